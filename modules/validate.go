package modules

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// ValidatePath holds the value of a property against what [Files] takes: absolute
// and clean. The error is a [PropertyError]; an empty value is for others to
// report.
func ValidatePath(property, value string) error {
	switch {
	case value == "":
		return nil
	case strings.ContainsRune(value, 0):
		return Errorf(property, "file path must not contain a NUL byte")
	case path.Clean(value) != value:
		return &PropertyError{Path: property, Msg: "file path must be canonical", Hint: "write " + path.Clean(value)}
	case !path.IsAbs(value):
		return &PropertyError{Path: property, Msg: "file path must be absolute", Hint: "write a path that begins with /"}
	}
	return nil
}

// ValidateLine checks that the value of a property fits on one line of a file. The error is a [PropertyError].
func ValidateLine(property, value string) error {
	if strings.ContainsAny(value, "\x00\r\n") {
		return Errorf(property, "%q must be one line, without NUL bytes", property)
	}
	return nil
}

// ValidateText refuses what can be neither an argument of a program nor in a path: a NUL byte. The error
// is a [PropertyError].
func ValidateText(property, value string) error {
	if strings.ContainsRune(value, 0) {
		return Errorf(property, "%q must not contain a NUL byte", property)
	}
	return nil
}

// ValidateArgument holds the value of a property against what can be a word of a command line and of
// a file: one line of printable text that no program takes for an option. The error is a [PropertyError].
func ValidateArgument(property, value string) error {
	switch {
	case strings.HasPrefix(value, "-"):
		return Errorf(property, "%q begins with a dash, so a program would take it for an option", value)
	case strings.ContainsFunc(value, unicode.IsControl):
		return Errorf(property, "%q has a control character", value)
	}
	return nil
}

const modeHint = `write an octal string such as mode: "0644"`

// ParseMode reads permissions as they are written: three or four octal digits,
// with or without the prefix 0o. The error is a [PropertyError] about "mode".
func ParseMode(text string) (fs.FileMode, error) {
	mode, _, err := parseMode(text, 4, 0o777)
	return mode, err
}

// ParseFullMode is ParseMode with the setuid, setgid and sticky bits: 4755. exact reports that the mode sets these
// bits, as also with five digits: 00755 removes them from a directory (as with chmod of the GNU tools).
func ParseFullMode(text string) (mode fs.FileMode, exact bool, err error) {
	return parseMode(text, 5, 0o7777)
}

func parseMode(text string, most int, highest uint64) (_ fs.FileMode, exact bool, err error) {
	digits := text
	if len(text) > 2 && strings.EqualFold(text[:2], "0o") {
		digits = text[2:]
	}
	fail := func(what string) (fs.FileMode, bool, error) {
		return 0, false, &PropertyError{Path: "mode", Msg: fmt.Sprintf("mode %q %s", text, what), Hint: modeHint}
	}
	if strings.Trim(digits, "0123456789") != "" {
		return fail("is not an octal number")
	}
	if strings.ContainsAny(digits, "89") {
		return fail("has a digit outside 0-7")
	}
	if len(digits) < 3 || len(digits) > most {
		return fail("does not have three or four digits")
	}
	bits, err := strconv.ParseUint(digits, 8, 16)
	if err != nil || bits > highest {
		return fail(fmt.Sprintf("exceeds maximum value %04o", highest))
	}
	mode := fs.FileMode(bits & 0o777)
	for bit, flag := range specialBits {
		if uint32(bits)&bit != 0 {
			mode |= flag
		}
	}
	return mode, len(digits) == 5 || bits > 0o777, nil
}

// SpecialBits are the bits of a mode that are not permissions: for an executed file the effective user and group, for a
// directory the group of new files, and who may remove them.
const SpecialBits = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

var specialBits = map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky}

// FormatSize writes a number of bytes for people, in units of 1024.
func FormatSize(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n == 1:
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// FormatMode writes all twelve bits in octal.
func FormatMode(mode fs.FileMode) string {
	return fmt.Sprintf("%04o", ModeBits(mode))
}

// ModeBits returns the bits of a mode for chmod(2).
func ModeBits(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for bit, flag := range specialBits {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	return bits
}
