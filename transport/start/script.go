package start

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

// script starts the module, or prints what it lacks. It is one text for every host and run, and any login shell passes
// it to /bin/sh. Single quotes, backslashes, newlines and exclamation marks would not survive all of sh, csh and fish;
// double quotes and backquotes are avoided, so there is no nesting. Expansions need no quotes because globbing is off
// and IFS is empty, except where a line is split.
//
// The script works inside the directory of the build and by relative names, also when it starts the program. If an
// attacker swaps a directory above it, or replaces one by a link, the script is not affected.
//
// Its arguments are NONCE FACTS MODE and one os/arch:sha256:size for each build. It answers on standard output with
// lines:
//
//	need NONCE OS ARCH              the build is not here
//	need NONCE OS ARCH nogzip DIR   nor can it be unpacked: it belongs into DIR
//	fail NONCE WORD DIR             it cannot be put here; see failWords
//	fail NONCE norun|nopath PATH    no program runs here, not even id
//
// Without gzip the script ends then. Otherwise it reads the text of [Build.header] from standard input, and after it
// the build in gzip. It unpacks the data as they arrive, and executes the program when all data have the right hash.
// Some versions of head read ahead, so the controller sends nothing more before the greeting. If the header names a
// file on the host, the script unpacks that file, whichever user has written it. If the file has the wrong hash, the
// script prints need again and reads standard input. It also prints need again, for the next directory, if a directory
// has no room.
//
// MODE is plain; or begin after an escalation: the script first prints [begun] on standard error. With again the cached
// build, which did not start, is ignored. With sent the build has been uploaded without the script.
//
// If the build is cached, the script starts one process: ls, and uname where the kernel has no file with the answer
// (Linux before 6.1, and other systems). An installation starts ten more. It then removes all builds except the three
// last used, and files that earlier installations left unfinished a day ago.
const script = `set -f; n=$1; f=$2; m=$3; shift 3; case $m in plain) ;; *) ` + begins + `;; esac; ` +
	// sys finds the operating system and architecture, in Go's words. lost ends the script where no program runs; w is
	// the reason, by the exit status.
	`lost() { case $1 in 127) w=nopath;; *) w=norun;; esac; echo fail $n $w $PATH; exit 1; }; ` +
	`sys() { test $1 = - && lost $3; o=${1:-unknown}; a=${2:-unknown}; }; { read -r a </proc/sys/kernel/arch; } 2>/dev/null && o=Linux || sys $(uname -sm || echo - - $?); ` +
	`case $o in Linux) o=linux;; Darwin) o=darwin;; FreeBSD) o=freebsd;; esac; ` +
	`case $a in x86_64|amd64) a=amd64;; aarch64|arm64) a=arm64;; armv[5-8]*) a=arm;; i[3-6]86) a=386;; esac; ` +
	// Its build: hash s, size z.
	`s=; for b do case $b in $o/$a:*) b=${b#*:}; s=${b%%:*}; z=${b#*:};; esac; done; ` +
	`test $s || { echo need $n $o $a; exit 0; }; ` +
	`IFS=; ` +
	ownShell +
	// fit returns 0 if the build that was looked at is whole and ours.
	`fit() { test -f $s && test -O $s || return 1; test -h $s && return 1; ` +
	`unset IFS; set -- $l; IFS=; ` +
	`until test ${1:-.} = .; do shift; done; test $# -gt 5 || return 1; shift; ` +
	`case $1:$5 in -rwx------:$z|-rwx------[.@]:$z) ;; *) return 1;; esac; }; ` +
	`has() { test $m = again && return 1; own && fit; }; ` +
	// tidy removes other builds: their names have the length of a hash and no dot. It looks for candidates without
	// starting a process.
	`tidy() { set +f; j=0; x=; for b in * .?*; do case $b in ..) ;; .*|*.gz) x=1;; *.*) ;; *) test ${#b} -eq 64 && j=$((j+1));; esac; done; set -f; ` +
	`test $j -gt 4 && { unset IFS; j=0; for b in $(ls -tu 2>/dev/null); do case $b in $s|*.*) ;; *) ` +
	`test ${#b} -eq 64 && test -f ./$b && j=$((j+1)) && test $j -gt 3 && rm -f ./$b;; esac; done; IFS=; }; ` +
	`test $x && find . -name .?* -type f -mtime +0 -exec rm -f {} + -o -type d -name ??* -prune -o -name *.gz -type f -mtime +0 -exec rm -f {} + 2>/dev/null; }; ` +
	// go starts the program. On a terminal, standard error must not mix with standard output.
	`go() { case $m in sent) tidy;; esac; test -t 2 && exec 2>/dev/null; exec ./$s serve $n $f; }; ` +
	// The usual end of the script. A home directory of another user, as HOME may be the login user's, is not used: the
	// program finds its directory by name afterwards. A missing home directory, which root could create, is not used
	// either.
	`h=${HOME:-/dev/null}; test -O $h || h=/dev/null; d=$h/.cache/ccm-push; has && go; ` +
	`u=$(id -u) || lost $?; for d in /var/tmp/ccm-push-$u /tmp/ccm-push-$u; do has && go; done; ` +
	// From here on the build is missing. w is why a directory cannot take it.
	`w=nodir; k=$(umask); umask 077; ` +
	`full() { case $e in *o?space*|*uota*) w=nospace;; *ead-only*) w=readonly;; esac; }; ` +
	`stop() { rm -f $t $t.gz; echo fail $n $w $d; exit 1; }; ` +
	// takes returns 0 if d can be created, belongs to us, and can hold and execute a file. It tries with an empty file,
	// which is a script that does nothing, and becomes the build. An unpacked build is sent once, so there has to be
	// room for it.
	`takes() { t=./.$n; test -d $d || e=$(LC_ALL=C mkdir -p $d 2>&1) || { full; return 1; }; own || return 1; ` +
	`e=$( { : >$t; } 2>&1 ) || { full; return 1; }; ` +
	`chmod 700 $t; e=$($t 2>&1) || { w=noexec; rm -f $t; return 1; }; ` +
	`command -v gzip >/dev/null && return 0; ` +
	`e=$( { LC_ALL=C head -c $z /dev/zero >$t; } 2>&1 ); : >$t; ` +
	`case $e in *o?space*|*uota*) full; rm -f $t; return 1;; esac; }; ` +
	sumShell + partShell +
	// ask reads the header into c, g and p: size, hash and, if there is one, file.
	`ask() { echo need $n $o $a; w=unpack; unset IFS; read -r c g p; IFS=; test $g || stop; }; ` +
	// unpack returns 0 if it has unpacked data with the right hash. gzip checks its output against a checksum and a
	// length, so the hash of the compressed data suffices, at a third of the cost; tee keeps it. Without room, cat
	// reads the rest, so that the script can request the build again.
	`unpack() { e=$( { LC_ALL=C; export LC_ALL; part | { tee $t.gz | gzip -dc >$t || { cat >/dev/null; false; }; }; } 2>&1 ); r=$?; full; test $r -eq 0 || return 1; ` +
	`case $(sum <$t.gz) in $g*) ;; *) test $w = unpack && w=hash; return 1;; esac; }; ` +
	// near takes the build from the file.
	`near() { test -h $p && return 1; test -f $p && unpack 2>/dev/null <$p; }; ` +
	// That a disk is full shows when it is: to try that beforehand takes as long as to hash the build.
	`x=; for d in $h/.cache/ccm-push /var/tmp/ccm-push-$u /tmp/ccm-push-$u; do takes || continue; ` +
	`command -v gzip >/dev/null || { rm -f $t; echo need $n $o $a nogzip $d; exit 0; }; ` +
	`trap stop 1 2 15; ask; x=$d; test $p && { near && break; ask; }; unpack && break; ` +
	`case $w in nospace) rm -f $t $t.gz; x=;; *) stop;; esac; done; test $x || stop; ` +
	`rm -f $t.gz; w=nodir; mv -f $t ./$s || stop; trap - 1 2 15; umask $k; tidy; ` +
	// Every start compares the size.
	`w=hash; look && fit && go; rm -f ./$s; stop`

// ownShell has functions of scripts. own enters the directory d and returns 0 if no other user can write to it. The
// comparison of its name detects a link that was just put there: other directories may have the same owner and mode.
// look sets l to ls's output for the directory and the file s. It uses the name . from inside, so that the checked
// directory is the used one.
const ownShell = `own() { test -h $d && return 1; cd -P $d 2>/dev/null && test -O . || return 1; ` +
	`case ${PWD##*/} in ${d##*/}) look;; *) return 1;; esac; }; ` +
	`look() { l=$(LC_ALL=C ls -dln . $s 2>/dev/null); ` +
	`case $l in drwx------*) ;; *) return 1;; esac; case $l in drwx------[+]*) return 1;; esac; }; `

// sumShell is a function of scripts: sum prints the SHA-256 of its standard input, and what else its program prints.
const sumShell = `sum() { if command -v sha256sum >/dev/null; then sha256sum; elif command -v shasum >/dev/null; then shasum -a 256; else sha256 -q; fi; }; `

// partShell is a function of scripts: part reads c bytes. A head that does not know -c has read nothing.
const partShell = `part() { head -c $c || case $? in 1|64) dd ibs=1 obs=32768 count=$c;; esac; }; `

// begins prints a line on standard error, where methods of escalation prompt. After it, no prompt belongs to the
// method. The line differs from the text of the command, so a shell that prints its commands does not print it.
const begins = `echo began-$n >&2`

func begun(nonce string) string { return "began-" + nonce }

// The words of a fail line.
const (
	failNoSpace = "nospace"
	failNoDir   = "nodir"
	failNoWrite = "readonly"
	failNoExec  = "noexec"
	failNoRun   = "norun"  // no program runs
	failNoPath  = "nopath" // no program is found; the directory is PATH
	failNoGzip  = "nogzip" // said as a need
	failUnpack  = "unpack"
	failHash    = "hash"
)

// The modes of the script.
const (
	modePlain = "plain" // as the login user
	modeBegin = "begin" // prints the line of [begins]
	modeAgain = "again" // like modeBegin, and ignores the cached build
	modeSent  = "sent"  // the same as begin, after an upload
)

// commandLine returns the command line for the login shell.
func commandLine(r Request, mode string) (string, error) {
	args := []string{r.Nonce, r.Facts, mode}
	for _, b := range r.Builds {
		args = append(args, fmt.Sprintf("%s/%s:%s:%d", b.OS, b.Arch, b.SHA256, b.Size))
	}
	return r.Become.commandLine(r.Nonce, script, args)
}

// ShellLine returns a command line with which any login shell has /bin/sh run a constant script with args, which are
// plain words.
func ShellLine(script string, args []string) (string, error) {
	if err := plainWords(args); err != nil {
		return "", err
	}
	return "/bin/sh -c '" + script + "' sh " + strings.Join(args, " "), nil
}

func plainWords(words []string) error {
	for _, w := range words {
		if !transport.IsPlainWord(w) {
			return fmt.Errorf("%q cannot be passed to the host: only letters, digits and _.,:/=@%%+- can", w)
		}
	}
	return nil
}
