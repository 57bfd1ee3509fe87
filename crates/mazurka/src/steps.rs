//! Where the steps of a program are.

use mazurka_lang::StepPlace;

use crate::Program;

impl Program {
    /// The places of a `.maz` program where steps begin, with what each may touch; none of other
    /// languages.
    ///
    /// ```
    /// let source = "var x: int = 0  process { x := 1; let y = 2 }";
    /// let program = mazurka::Program::load("one.maz", source, &[]).unwrap();
    /// let steps = program.step_places();
    /// assert_eq!(steps.len(), 1);
    /// assert_eq!(steps[0].writes, ["x"]);
    /// ```
    pub fn step_places(&self) -> Vec<StepPlace> {
        let code = self.language.maz();
        code.map_or(Vec::new(), |code| code.step_places())
    }
}
