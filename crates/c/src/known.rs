//! The functions of the C library that a program may call directly: they keep no shared state, and
//! access only their arguments.

/// Functions that are passed through: the program calls the C library directly. The verdict names
/// them, because they run outside of the exploration.
const PASSED: &[&str] = &[
    // Numbers.
    "abs",
    "labs",
    "llabs",
    "div",
    "ldiv",
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strtol",
    "strtoul",
    "strtoll",
    "strtoull",
    "strtod",
    "strtof",
    "acos",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "fabs",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log2",
    "pow",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "fabsf",
    "sqrtf",
    "floorf",
    "ceilf",
    "powf",
    "lround",
    "lrint",
    "__isoc23_strtol",
    "__isoc23_strtoul",
    // `qsort` and `bsearch` call back into the program.
    "qsort",
    "bsearch",
    // Texts.
    "sscanf",
    "__isoc99_sscanf",
    "isalpha",
    "isdigit",
    "isalnum",
    "isspace",
    "isupper",
    "islower",
    "isprint",
    "ispunct",
    "isxdigit",
    "toupper",
    "tolower",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "strerror",
];

/// Functions that are passed through and not named in the verdict, because the shim or code of the
/// compiler calls them.
const SILENT: &[&str] = &[
    // Used by `printf` of the shim.
    "__vsnprintf_chk",
    // Calls that compilers generate.
    "__errno_location",
    "stdout",
    "stderr",
    "stdin",
    "__tls_get_addr",
    "_setjmp",
    "longjmp",
    "__sigsetjmp",
    "__longjmp_chk",
    // Used by `once` of the shim, which an exception may leave.
    "_Unwind_Resume",
    "__gcc_personality_v0",
];

/// Functions that the C++ library calls. The library is linked into every C++ program. For a C++
/// program, the verdict names the library as a whole instead of these functions; for a C program,
/// it names the functions.
const CXX_LIBRARY: &[&str] = &[
    "_dl_find_object",
    "dl_iterate_phdr",
    "gettext",
    "dcgettext",
    "bindtextdomain",
    "strcoll",
    "strxfrm",
    "mbrtowc",
    "wcrtomb",
    "btowc",
    "wctob",
    "wctype",
    "iswctype",
    "towlower",
    "towupper",
    "mbstowcs",
    "setlocale",
    "__newlocale",
    "__freelocale",
    "__uselocale",
    "__nl_langinfo_l",
    "__strtod_l",
    "__strtof_l",
    "strtold_l",
    "__wctype_l",
    "__iswctype_l",
    "__towlower_l",
    "__towupper_l",
    "__strcoll_l",
    "__strxfrm_l",
    "__wcscoll_l",
    "__wcsxfrm_l",
    "__strftime_l",
    "__wcsftime_l",
    "mbsnrtowcs",
    "wcsnrtombs",
    "__ctype_get_mb_cur_max",
    "nl_langinfo",
    "__duplocale",
    "bind_textdomain_codeset",
    "dgettext",
    "mbsrtowcs",
    "environ",
    "program_invocation_name",
];

/// Returns the passed-through functions that the verdict names. `cxx` tells whether the C++ library
/// is linked into the program.
pub(crate) fn reported(needs: &[String], cxx: bool) -> Vec<String> {
    let counts = |name: &str| PASSED.contains(&name) || !cxx && CXX_LIBRARY.contains(&name);
    let mut all: Vec<String> = needs
        .iter()
        .filter(|name| counts(name))
        .map(|name| format!("`{name}` of the C library"))
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the name of a function in the source, which may be a macro of the C library that calls
/// the function.
fn in_source(name: &str) -> &str {
    match name {
        "__pthread_register_cancel"
        | "__pthread_unregister_cancel"
        | "__pthread_unwind_next"
        | "__pthread_register_cancel_defer"
        | "__pthread_unregister_cancel_restore" => "pthread_cleanup_push",
        name => name,
    }
}

/// Returns the names of the functions in `needs` that are not supported.
pub(crate) fn unknown(needs: &[String]) -> Vec<String> {
    let mut all: Vec<String> = needs
        .iter()
        .filter(|name| {
            let lists = [PASSED, SILENT, CXX_LIBRARY];
            !lists.iter().any(|list| list.contains(&name.as_str()))
        })
        .map(|name| in_source(name).to_owned())
        .collect();
    all.sort();
    all.dedup();
    all
}
