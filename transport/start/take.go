package start

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

// takeScript takes one file, a build in gzip, by its hash from standard input into the directory of the login user's
// own builds. It does nothing else, so a certificate can restrict a key to it; other requests of that key are refused.
//
// Like [script] it is one text for every host. Its arguments are NONCE SHA256 SIZE. It answers with lines:
//
//	want NONCE        the file is not here
//	took NONCE PATH   it is here
//	fail NONCE WORD   it cannot be taken: nodir, write, hash
//
// Other files that are older than a day are removed.
const takeScript = `set -f; n=$1; g=$2; c=$3; IFS=; umask 077; ` +
	`case ${SSH_ORIGINAL_COMMAND:-take} in take) ;; *) echo nothing but one file is taken here >&2; exit 1;; esac; ` +
	ownShell + sumShell + partShell +
	`s=$g.gz; t=./.$n.$$; h=${HOME:-/dev/null}; test -O $h || h=/dev/null; d=$h/.cache/ccm-push; ` +
	`stop() { rm -f $t; echo fail $n $1; exit 1; }; ` +
	`test -d $d || mkdir -p $d 2>/dev/null; own || { echo fail $n nodir; exit 1; }; ` +
	`find . -name . -o -type d -prune -o -name *.gz -type f -mtime +0 -exec rm -f {} + 2>/dev/null; ` +
	`right() { case $(sum <$1) in $g*) ;; *) return 1;; esac; }; ` +
	`has() { test -h $s && return 1; test -f $s && test -O $s && right $s; }; ` +
	`trap exit 1 2 13 15; ` +
	`has || { echo want $n; set -C; { : >$t; } 2>/dev/null || stop write; set +C; trap stop 1 2 13 15; ` +
	`part >$t 2>/dev/null || stop write; right $t || stop hash; mv -f $t ./$s || stop write; }; ` +
	`echo took $n $PWD/$s`

// TakeLine returns a command line that takes a build in gzip, and nothing else, into the directory of the login user's
// own builds. It contains no secret, so it can be the forced command of a certificate. [Taking] reads the answers.
func TakeLine(nonce string, b Build) (string, error) {
	return ShellLine(takeScript, []string{nonce, b.CompressedSHA256, strconv.FormatInt(b.CompressedSize, 10)})
}

// Taking reads the answers of a [TakeLine], among other output of a login shell. wanted is called if the build must be
// sent. Taking returns the path of the build, in the words of the host; the path has the form of a build's path.
func Taking(nonce string, b Build, out io.Reader, wanted func() error) (string, error) {
	lines := bufio.NewReaderSize(io.LimitReader(out, maxNoise), readBuffer)
	for {
		line, err := lines.ReadString('\n')
		noise, answer, _ := strings.Cut(line, " "+nonce)
		switch {
		case err != nil:
			return "", errors.New("it does not confirm that it has the file")
		case strings.HasSuffix(noise, "want"):
			if err := wanted(); err != nil {
				return "", err
			}
		case strings.HasSuffix(noise, "took"):
			return takenPath(strings.TrimSpace(answer), b)
		case strings.HasSuffix(noise, "fail"):
			return "", fmt.Errorf("it cannot take the file: %s", transport.QuoteExcerpt(strings.TrimSpace(answer)))
		}
	}
}

// takenPath is a path that a host has said, if it is one that a build is taken to.
func takenPath(text string, b Build) (string, error) {
	if !strings.HasPrefix(text, "/") || path.Clean(text) != text || !strings.HasSuffix(text, "/"+cacheDir+"/"+b.CompressedSHA256+".gz") || !transport.IsPlainWord(text) {
		return "", fmt.Errorf("it stored the file in an unexpected place: %s", transport.QuoteExcerpt(text))
	}
	return text, nil
}
