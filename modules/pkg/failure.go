package pkg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// maxLines is how many reasons an error names, and how many lines it quotes. zypper and rpm print the important line in
// the middle of nine.
const maxLines = 9

// failure returns the error of a failed program: the known reasons, and lines of its standard error, only the lines
// marked as errors if there are any.
func failure(command string, exit modules.Exit, reasons []string) error {
	var said, marked []string
	for line := range strings.Lines(exit.Stderr.Text) {
		line = strings.Join(strings.Fields(line), " ")
		line, isMarked := strings.CutPrefix(line, "E: ")
		switch {
		case line == "" || isNoise(line):
		case isMarked:
			marked = append(marked, line)
		default:
			said = append(said, line)
		}
	}
	if len(marked) > 0 {
		said = marked
	}
	said = slices.Concat(excerpt.Lines(reasons, maxLines), excerpt.Lines(said, maxLines))
	text := fmt.Sprintf("%s ended with exit code %d", command, exit.Code)
	if len(said) > 0 {
		text += ": " + strings.Join(said, "; ")
	}
	return &managerError{text: text, safe: fmt.Sprintf("the package manager ended with exit code %d", exit.Code)}
}

// isNoise reports whether a line does not help to find the cause.
func isNoise(line string) bool {
	for _, begin := range []string{"W: ", "N: ", "Errors were encountered while processing:", "Sub-process /usr/bin/dpkg returned"} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// managerError is the failure of a package manager. Its output may come from the scripts of a package.
type managerError struct{ text, safe string }

func (e *managerError) Error() string { return e.text }

// Redacted implements [modules.Redactor].
func (e *managerError) Redacted() string { return e.safe }
