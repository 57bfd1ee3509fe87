# Sourced by peers/crates and peers/mutants: runs the loom tests of released crates on mazurka-loom
# by an alias, or with LOOM=1 on loom itself.
#
# Sets: root (the repository), work (the folder for all files), tool ("ours" or "loom").
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$root/target/peers
tool=${LOOM:+loom}
tool=${tool:-ours}

# Makes a package with loom's name that re-exports mazurka-loom, for [patch].
alias_of() { # version
    local folder=$work/alias-$1
    mkdir -p "$folder/src"
    cat > "$folder/Cargo.toml" <<TOML
[package]
name = "loom"
version = "$1"
edition = "2024"

[features]
checkpoint = []
futures = []

[dependencies]
mazurka-loom = { path = "$root/crates/loom" }

[workspace]
TOML
    echo 'pub use mazurka_loom::*;' > "$folder/src/lib.rs"
}

# Downloads a crate through a package that depends on it, and moves it into a folder.
fetch() { # name version folder
    local from=$work/fetch-$1-$2
    if [ ! -f "$from/vendor.toml" ]; then
        mkdir -p "$from/src"
        : > "$from/src/lib.rs"
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n%s = "=%s"\n[workspace]\n' \
            "$1" "$2" > "$from/Cargo.toml"
        (cd "$from" && cargo vendor --quiet vendor > vendor.new && mv vendor.new vendor.toml)
    fi
    rm -rf "$3"
    cp -r "$from/vendor/$1" "$3"
    # The lock file of the crate would pin the version of loom that the crate was released with.
    rm -f "$3/.cargo-checksum.json" "$3/Cargo.lock"
    printf '\n[workspace]\n' >> "$3/Cargo.toml"
}

# Makes a crate use mazurka-loom in place of loom.
alias_in() { # folder
    [ "$tool" = ours ] || return 0
    local asked=0.7.99
    if grep -A1 'dependencies.loom\]' "$1/Cargo.toml" | grep -q '"0\.5'; then
        asked=0.5.99
    fi
    alias_of "$asked"
    printf '\n[patch.crates-io]\nloom = { path = "%s" }\n' "$work/alias-$asked" >> "$1/Cargo.toml"
}

# Builds the tests of a crate and prints the programs, one a line. The compiler's output goes to
# log.
build() { # folder cfg log arguments…
    local folder=$1 cfg=$2 log=$3
    shift 3
    (
        cd "$folder"
        RUSTFLAGS="--cfg $cfg --cfg tokio_unstable --cap-lints warn -C debug-assertions=on" \
            CARGO_TARGET_DIR=$work/build-$tool \
            cargo test --release --no-run --message-format json-render-diagnostics "$@" 2> "$log"
    ) | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
    [ "${PIPESTATUS[0]}" = 0 ] && ! grep -q 'patch `loom.* was not used' "$log"
}

# Runs one test in its own process, one thread at a time. Sets: verdict (passed, failed, cut), cpu
# (seconds). For loom, the time decides whether a search was cut.
run() { # folder program test log limit settings…
    local folder=$1 program=$2 test=$3 log=$4 limit=$5 code=0
    shift 5
    local -a settings=(MAZURKA_TIME_LIMIT="$limit" LOOM_MAX_DURATION="$limit" "$@")
    local TIMEFORMAT=%U start=$SECONDS
    cpu=$({ time { (
        cd "$folder"
        env "${settings[@]}" CARGO_MANIFEST_DIR="$folder" timeout $((3 * limit + 30)) \
            "$program" --exact "$test" --nocapture --test-threads 1
    ) > "$log" 2>&1; }; } 2>&1) || code=$?
    verdict=passed
    if [ "$code" = 124 ]; then
        verdict=failed
        echo "killed after $((3 * limit + 30)) seconds" >> "$log"
        [ "$tool" = ours ] || verdict=cut
    elif [ "$code" != 0 ]; then
        verdict=failed
    elif [ "$tool" = ours ]; then
        ! grep -q 'mazurka: .*not complete' "$log" || verdict=cut
    elif ((SECONDS - start >= limit)); then
        verdict=cut
    fi
}
