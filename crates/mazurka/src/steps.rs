//! The places in the source where steps begin, for editors.

use mazurka_lang::StepPlace;

use crate::Program;

impl Program {
    /// Returns the places of a program where steps begin, with the variables that each may touch.
    /// The list is empty for C.
    ///
    /// ```
    /// let source = "var x: int = 0  process { x := 1; let y = 2 }";
    /// let program = mazurka::Program::load("one.maz", source, &[]).unwrap();
    /// let steps = program.step_places();
    /// assert_eq!(steps.len(), 1);
    /// assert_eq!(steps[0].writes, ["x"]);
    /// ```
    pub fn step_places(&self) -> Vec<StepPlace> {
        self.language.step_places()
    }
}
