package start

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

// script starts the module, or says what it lacks. It is one text for every
// host and run, handed to /bin/sh by whatever login shell the user has: single
// quotes, backslashes, newlines and exclamation marks would not survive all of
// sh, csh and fish, and double quotes and backquotes are left out so that nobody
// has to think about nesting. Expansions are safe without quotes because
// globbing is off and IFS empty, but where a line is to be split.
//
// Everything in the directory of the build is done from inside it and by names
// relative to it, also the start itself: whoever can swap a directory above it,
// or put a link in its place, finds that nothing follows him.
//
// Its arguments are NONCE FACTS MODE and one os/arch:sha256:size for each build. Its
// answers on standard output are lines:
//
//	need NONCE OS ARCH              the build is not here
//	need NONCE OS ARCH nogzip DIR   nor can it be unpacked: it belongs into DIR
//	fail NONCE WORD DIR             it cannot be put here; see failWords
//	fail NONCE norun|nopath PATH    no program runs here, not even id
//
// Without gzip it ends then. Otherwise it reads from standard input what [Build.header] says, and the build in
// gzip behind that. It is unpacked while it comes, and executed when all of it has
// the right hash. Some heads read ahead, so nothing may be sent behind it before the
// greeting. Where the header names a file on the host, the build is unpacked from there, whoever has
// written it: if that has not the right hash, need is said once more, and standard input counts. So it is for
// the next directory where there is no room in one.
//
// MODE is plain; or begin, behind an escalation: then the first thing it says is
// [begun], on standard error. With again, what is cached does not count: it did not
// start. With sent, the build has been put here without the script.
//
// When the build is cached, this starts one process: ls, and uname where no file of the kernel
// says what that would say (Linux before 6.1, and other systems). Another ten install it. After that all but the three builds that were last used are removed, and
// what earlier installations have left unfinished a day ago.
const script = `set -f; n=$1; f=$2; m=$3; shift 3; case $m in plain) ;; *) ` + begins + `;; esac; ` +
	// What this system is, in Go's words.
	// lost ends it where no program runs: w is why, by the exit status.
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
	// tidy removes other builds, which have the length of a hash for a name and no dot.
	// What there is to clear away is looked for without a process.
	`tidy() { set +f; j=0; x=; for b in * .?*; do case $b in ..) ;; .*|*.gz) x=1;; *.*) ;; *) test ${#b} -eq 64 && j=$((j+1));; esac; done; set -f; ` +
	`test $j -gt 4 && { unset IFS; j=0; for b in $(ls -tu 2>/dev/null); do case $b in $s|*.*) ;; *) ` +
	`test ${#b} -eq 64 && test -f ./$b && j=$((j+1)) && test $j -gt 3 && rm -f ./$b;; esac; done; IFS=; }; ` +
	`test $x && find . -name .?* -type f -mtime +0 -exec rm -f {} + -o -type d -name ??* -prune -o -name *.gz -type f -mtime +0 -exec rm -f {} + 2>/dev/null; }; ` +
	// go starts it. On a terminal its standard error must not get into what it says
	// on standard output.
	`go() { case $m in sent) tidy;; esac; test -t 2 && exec 2>/dev/null; exec ./$s serve $n $f; }; ` +
	// The usual end of it. A home of somebody else, as HOME may be of the one who
	// has logged in, is none: the program finds its directory by name afterwards.
	// Neither is one that is not there, which root could make.
	`h=${HOME:-/dev/null}; test -O $h || h=/dev/null; d=$h/.cache/ccm-push; has && go; ` +
	`u=$(id -u) || lost $?; for d in /var/tmp/ccm-push-$u /tmp/ccm-push-$u; do has && go; done; ` +
	// From here on the build is missing. w is why a directory cannot take it.
	`w=nodir; k=$(umask); umask 077; ` +
	`full() { case $e in *o?space*|*uota*) w=nospace;; *ead-only*) w=readonly;; esac; }; ` +
	`stop() { rm -f $t $t.gz; echo fail $n $w $d; exit 1; }; ` +
	// takes returns 0 if d can be made, belongs to us, and can hold and execute a
	// file: an empty one, which is a script that does nothing. That becomes the build.
	// What is sent unpacked is sent once, so there has to be room for it.
	`takes() { t=./.$n; test -d $d || e=$(LC_ALL=C mkdir -p $d 2>&1) || { full; return 1; }; own || return 1; ` +
	`e=$( { : >$t; } 2>&1 ) || { full; return 1; }; ` +
	`chmod 700 $t; e=$($t 2>&1) || { w=noexec; rm -f $t; return 1; }; ` +
	`command -v gzip >/dev/null && return 0; ` +
	`e=$( { LC_ALL=C head -c $z /dev/zero >$t; } 2>&1 ); : >$t; ` +
	`case $e in *o?space*|*uota*) full; rm -f $t; return 1;; esac; }; ` +
	sumShell + partShell +
	// ask lets c, g and p be what the header says: size, hash and, if there is one, file.
	`ask() { echo need $n $o $a; w=unpack; unset IFS; read -r c g p; IFS=; test $g || stop; }; ` +
	// unpack returns 0 if it has unpacked what has the right hash. Without an error, that is the
	// build: gzip holds what it has written against a checksum and a length. So the hash is that of
	// the smaller file, which costs a third, and tee keeps it for that. Where there is no room, cat reads the rest,
	// so that the build can be asked for again.
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
	// Its size is part of what every start looks at.
	`w=hash; look && fit && go; rm -f ./$s; stop`

// ownShell is functions of scripts. own goes into the directory d and returns 0 if nobody else can write to it.
// That it has the name that was meant tells whether somebody has put a link there in between: ours are
// not the only ones with such an owner and mode. look lets l be what ls says of the directory and of the
// file s. By name . and from inside, so that the directory that is checked is the one that is used.
const ownShell = `own() { test -h $d && return 1; cd -P $d 2>/dev/null && test -O . || return 1; ` +
	`case ${PWD##*/} in ${d##*/}) look;; *) return 1;; esac; }; ` +
	`look() { l=$(LC_ALL=C ls -dln . $s 2>/dev/null); ` +
	`case $l in drwx------*) ;; *) return 1;; esac; case $l in drwx------[+]*) return 1;; esac; }; `

// sumShell is a function of scripts: sum prints the SHA-256 of its standard input, and what else its program prints.
const sumShell = `sum() { if command -v sha256sum >/dev/null; then sha256sum; elif command -v shasum >/dev/null; then shasum -a 256; else sha256 -q; fi; }; `

// partShell is a function of scripts: part reads c bytes. A head that does not know -c has read nothing.
const partShell = `part() { head -c $c || case $? in 1|64) dd ibs=1 obs=32768 count=$c;; esac; }; `

// begins is how a script says on standard error, which is where methods of
// escalation ask, that it runs: whatever asks from then on is none of them. That a
// shell prints its command line does not say it.
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
	modeBegin = "begin" // says that it runs
	modeAgain = "again" // the same, and does not look at what is cached
	modeSent  = "sent"  // the same as begin, after an upload
)

// commandLine is what the login shell gets.
func commandLine(r Request, mode string) (string, error) {
	args := []string{r.Nonce, r.Facts, mode}
	for _, b := range r.Builds {
		args = append(args, fmt.Sprintf("%s/%s:%s:%d", b.OS, b.Arch, b.SHA256, b.Size))
	}
	return r.Become.commandLine(r.Nonce, script, args)
}

// ShellLine is how any login shell gets /bin/sh to run a constant script with args, which are plain words.
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
