//! Checks `.maz` files and prints what is wrong with them, one line each.

fn main() {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let source = match std::fs::read_to_string(&path) {
            Ok(source) => source,
            Err(error) => {
                eprintln!("{path}: {error}");
                failed = true;
                continue;
            }
        };
        let Err(mistakes) = mazurka_lang::load(&source, &[]) else {
            continue;
        };
        failed = true;
        for mistake in mistakes {
            let (line, column) = mistake.span.line_column(&source);
            let help = mistake.help.unwrap_or_default();
            println!(
                "{path}:{line}:{column}: {}: {} | {} | {help}",
                mistake.code, mistake.message, mistake.label
            );
        }
    }
    std::process::exit(failed.into());
}
