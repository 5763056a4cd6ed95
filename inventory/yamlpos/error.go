package yamlpos

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// An Error is one thing that is wrong at one place of a file. Line and Column
// are 0 where they are not known.
type Error struct {
	File         string
	Line, Column int
	Msg          string // the problem
	Hint         string // suggested fix; may be empty
	Folder       string // the folder of File, to read it; empty means the working directory
	Within       string // prefix of File in messages: a folder or an archive; may be empty
}

// Error returns "file:line:column: msg", with the hint on a line of its own.
func (e *Error) Error() string {
	s := e.Msg
	if pos := e.Pos(); pos != "" {
		s = pos + ": " + s
	}
	if e.Hint != "" {
		s += "\n  hint: " + e.Hint
	}
	return s
}

// Pos returns the known parts of "file:line:column".
func (e *Error) Pos() string { return position(e.Path(), e.Line, e.Column) }

// Path returns the name of the file as messages show it.
func (e *Error) Path() string {
	if e.Within == "" || e.File == "" {
		return e.File
	}
	return path.Join(e.Within, e.File)
}

func position(file string, line, column int) string {
	place := file
	if line > 0 {
		place += fmt.Sprintf(":%d", line)
	}
	if line > 0 && column > 0 {
		place += fmt.Sprintf(":%d", column)
	}
	return strings.TrimPrefix(place, ":") // a text may come from no file
}

// Errors is everything that is wrong with one file or several.
type Errors []*Error

// maxShown bounds the text of Errors; a broken file can have a million.
const maxShown = 100

// Error returns the errors, one per line, sorted by position: the first 100 of them, and the number of others.
func (e Errors) Error() string {
	var texts []string
	for i, one := range e.sorted() {
		if i == maxShown {
			texts = append(texts, fmt.Sprintf("and %d more errors", len(e)-i))
			break
		}
		texts = append(texts, one.Error())
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the errors for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// Err is nil if there are no errors, else the errors sorted by position.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e.sorted()
}

// Add appends err. Errors and joined errors are taken apart, an error without a
// position is kept as text, and nil is ignored.
func (e *Errors) Add(err error) {
	switch err := err.(type) {
	case nil:
	case *Error:
		*e = append(*e, err)
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			e.Add(one)
		}
	default:
		*e = append(*e, &Error{Msg: err.Error()})
	}
}

func (e Errors) sorted() Errors {
	sorted := slices.Clone(e)
	slices.SortStableFunc(sorted, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return sorted
}

// Suggest returns the known word that word was probably meant to be: the closest by edit distance, at most two edits
// away, whatever the case. A second edit needs a word of at least six letters: "root" is not meant to be "port". It returns
// "" if there is none.
func Suggest(word string, known []string) string {
	limit := 2
	if len(word) <= 3 {
		limit = 1
	}
	return SuggestWithin(word, known, limit)
}

// SuggestWithin returns [Suggest] with at most limit edits.
func SuggestWithin(word string, known []string, limit int) string {
	best, closest := "", limit+1
	for _, k := range known {
		if gap := len(k) - len(word); gap >= closest || -gap >= closest {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < closest && (d <= 1 || max(len(word), len(k)) >= 3*d) {
			best, closest = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbouring bytes that turn a into b.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			replace := row[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			next[j] = min(replace, row[j]+1, next[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
