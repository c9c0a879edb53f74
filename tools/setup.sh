# tools/setup.sh: installs packages that a script of this project needs. Sourced by tools/demo and tests/run:
#
#     . tools/setup.sh
#     need_packages gcc:gcc make:make stb/stb_image.h:libstb-dev
#
# Each word names what is needed (a command, a header that ends in .h, or a shared library with .so. in its name) and
# the Debian package that contains it.
# need_packages returns if everything is there; otherwise the script ends with status 2. It prints the apt command
# before it installs anything. As root, or if sudo needs no password, it runs the command at once; on a terminal it
# asks; otherwise it does nothing. REID_NO_INSTALL=1 forbids installing.

setup_has() { # setup_has COMMAND_OR_HEADER_OR_LIBRARY
    case $1 in
    *.h) echo "#include <$1>" | ${CC:-cc} -E -x c - >/dev/null 2>&1 ;;
    *.so.*) PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "$1" ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

setup_missing() { # setup_missing NAME:PACKAGE...: the packages, each once
    setup_list=
    for setup_pair in "$@"; do
        setup_has "${setup_pair%%:*}" && continue
        case " $setup_list " in
        *" ${setup_pair#*:} "*) ;;
        *) setup_list="$setup_list ${setup_pair#*:}" ;;
        esac
    done
    echo "${setup_list# }"
}

setup_apt() { # setup_apt PREFIX PACKAGE...: PREFIX is empty or sudo
    setup_prefix=$1
    shift
    $setup_prefix env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
        $setup_prefix env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

setup_install() { # setup_install PACKAGE...
    setup_sudo=
    [ "$(id -u)" = 0 ] || setup_sudo="sudo "
    if ! setup_has apt-get; then
        echo "Please install these packages (Debian's names; your system may use others): $*" >&2
        return
    fi
    echo "Some packages are not installed. This command installs them:" >&2
    echo "    ${setup_sudo}apt-get update && ${setup_sudo}apt-get install -y --no-install-recommends $*" >&2
    if [ "${REID_NO_INSTALL:-0}" != 0 ]; then
        echo "REID_NO_INSTALL is set, so nothing is installed." >&2
        return
    fi
    if [ -n "$setup_sudo" ] && ! sudo -n true 2>/dev/null; then
        if ! { [ -t 0 ] && [ -t 2 ] && setup_has sudo; }; then
            echo "Run it as root, then start this script again." >&2
            return
        fi
        printf 'Run it now? [y/N] ' >&2
        read -r setup_answer || setup_answer=
        case $setup_answer in y* | Y*) ;; *) return ;; esac
    fi
    setup_apt "${setup_sudo% }" "$@" >&2
}

need_packages() {
    setup_packages=$(setup_missing "$@")
    [ -n "$setup_packages" ] || return 0
    # shellcheck disable=SC2086 # names without spaces
    setup_install $setup_packages || true
    setup_packages=$(setup_missing "$@")
    [ -n "$setup_packages" ] || return 0
    echo "Cannot continue without these packages: $setup_packages" >&2
    exit 2
}
