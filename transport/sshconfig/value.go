package sshconfig

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// A directive is a line with a setting, checked as far as that is possible without a host.
type directive struct {
	keyword *keyword // nil if it is not known
	name    string   // as written, in lower case
	values  []string
	hops    []Hop // of ProxyJump
	at      string
	user    bool // the file belongs to the user; users may run any command
}

// bounds of ssh, and one of ours
const (
	maxIdentities = 100
	maxHostsFiles = 32
	maxPattern    = 1023 // bytes of one pattern of a list
)

var (
	errMissing = errors.New("an argument is missing")
	errQuotes  = errors.New("a quote is not closed")
)

// parse reads the arguments of a keyword, except host, match and include. Flags are yes and no, times are decimal
// seconds.
func (d *directive) parse(rest string) error {
	k := d.keyword
	words, ok := splitWords(rest)
	if !ok {
		return errQuotes
	}
	var err error
	switch k.kind {
	case ignored:
		d.values = words
	case command:
		d.values = []string{strings.TrimLeft(rest, blanks+"=")}
	case jump:
		d.values, d.hops, err = parseJump(strings.TrimLeft(rest, blanks+"="))
	case files:
		d.values, err = words, checkFiles(words)
	default:
		switch {
		case len(words) == 0 || words[0] == "":
			return errMissing
		case len(words) > 1:
			return fmt.Errorf("%q follows the argument", words[1])
		}
		d.values = words
		d.values[0], err = k.value(words[0])
	}
	return err
}

// value checks the only argument of a keyword and returns it in its usual form.
func (k *keyword) value(arg string) (string, error) {
	switch k.kind {
	case yesNo:
		return oneOf(arg, "yes", "yes", "true", "yes", "no", "no", "false", "no")
	case choice:
		return oneOf(arg, k.words...)
	case number:
		n, err := parseInt(arg)
		return strconv.Itoa(n), err
	case port:
		n, err := parsePort(arg)
		return strconv.Itoa(n), err
	case seconds:
		return parseSeconds(arg)
	case algorithms:
		return arg, checkAlgorithms(arg)
	}
	return arg, nil
}

func oneOf(arg string, words ...string) (string, error) {
	for i := 0; i < len(words); i += 2 {
		if strings.EqualFold(arg, words[i]) {
			return words[i+1], nil
		}
	}
	var known []string
	for i := 0; i < len(words); i += 2 {
		known = append(known, words[i])
	}
	return "", fmt.Errorf("%q is not one of %s", arg, strings.Join(known, ", "))
}

// parseInt reads a number from 0 on as strtonum(3) does.
func parseInt(arg string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimLeft(arg, blanks+"\v\f"), "+"), 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number from 0", arg)
	}
	return int(n), nil
}

func parsePort(arg string) (int, error) {
	n, err := parseInt(arg)
	if err != nil && !strings.ContainsAny(arg[:1], "0123456789+-") {
		n, err = net.LookupPort("tcp", arg)
	}
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%q is not a port", arg)
	}
	return n, nil
}

// units are the units of sshd_config(5)'s time formats, in seconds.
var units = map[byte]int64{'s': 1, 'm': 60, 'h': 60 * 60, 'd': 24 * 60 * 60, 'w': 7 * 24 * 60 * 60}

// parseSeconds returns the seconds of a time such as 90 or 1m30s; "none" is kept.
func parseSeconds(arg string) (string, error) {
	if arg == "none" {
		return arg, nil
	}
	bad := fmt.Errorf("%q is not a time such as 90 or 1m30s", arg)
	var total int64
	for rest := arg; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 32)
		if err != nil {
			return "", bad
		}
		unit := int64(1)
		if rest = rest[digits:]; rest != "" {
			if unit = units[rest[0]|0x20]; unit == 0 {
				return "", bad
			}
			rest = rest[1:]
		}
		if total += n * unit; total > 1<<31-1 {
			return "", bad
		}
	}
	return strconv.FormatInt(total, 10), nil
}

func checkFiles(words []string) error {
	for _, w := range words {
		switch {
		case w == "":
			return errMissing
		case strings.EqualFold(w, "none") && len(words) > 1:
			return errors.New(`"none" cannot be combined with other files`)
		}
	}
	if len(words) > maxHostsFiles {
		return fmt.Errorf("more than %d files", maxHostsFiles)
	}
	return nil
}
