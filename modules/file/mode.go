package file

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// operators are what only a symbolic mode has.
const operators = "+-="

// symbolicMode is a mode as chmod(1) has it, without s, t and the copying of another class:
// what comes out is the same when it is applied again.
var symbolicMode = regexp.MustCompile(`^[ugoa]*([-+=][rwxX]*)+(,[ugoa]*([-+=][rwxX]*)+)*$`)

// symbolic reports whether the mode says what to change in the one that there is.
func (f *File) symbolic() bool { return strings.ContainsAny(f.Mode, operators) }

func (f *File) validateMode() (err error) {
	switch {
	case f.symbolic() && !symbolicMode.MatchString(f.Mode):
		return &modules.PropertyError{
			Path: "mode", Msg: fmt.Sprintf("mode %q is neither octal nor symbolic", f.Mode),
			Hint: `write it as in mode: "0640" or mode: "u=rw,g=r,o=", with the letters u, g, o, a and r, w, x, X`,
		}
	case f.Mode != "" && !f.symbolic():
		_, err = modules.ParseMode(f.Mode)
	}
	return err
}

var classes = map[rune]fs.FileMode{'u': 0o700, 'g': 0o070, 'o': 0o007, 'a': 0o777}

// changed gives mode as a valid symbolic one changes it. Without a class it is about all,
// whatever umask there is.
func changed(mode fs.FileMode, symbolic string, directory bool) fs.FileMode {
	for clause := range strings.SplitSeq(symbolic, ",") {
		at := strings.IndexAny(clause, operators)
		var who fs.FileMode
		for _, c := range clause[:at] {
			who |= classes[c]
		}
		if who == 0 {
			who = classes['a']
		}
		for rest := clause[at:]; rest != ""; {
			end := strings.IndexAny(rest[1:], operators) + 1
			if end == 0 {
				end = len(rest)
			}
			var bits fs.FileMode
			for _, c := range rest[1:end] {
				switch {
				case c == 'r':
					bits |= 0o444
				case c == 'w':
					bits |= 0o222
				case c == 'x' || directory || mode&0o111 != 0: // else X
					bits |= 0o111
				}
			}
			bits &= who
			switch rest[0] {
			case '+':
				mode |= bits
			case '-':
				mode &^= bits
			case '=':
				mode = mode&^who | bits
				if who&0o700 != 0 {
					mode &^= fs.ModeSetuid
				}
				if who&0o070 != 0 {
					mode &^= fs.ModeSetgid
				}
			}
			rest = rest[end:]
		}
	}
	return mode
}
