package modules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Asker is a [Querier] that can be asked from the command line.
type Asker interface {
	Querier
	// QueryLine gives the properties of the resources that are asked, from the words
	// that follow the query on a command line. input reads the argument of an option
	// that takes a map: JSON or YAML, or - for standard input.
	QueryLine(query string, words []string, input func(word string) (map[string]any, error)) ([]map[string]any, error)
}

// Query gives the query that the words of an ad-hoc call begin with; "" if they begin
// with none.
func (t Type) Query(words []string) string {
	a, ok := t.New().(Asker)
	if !ok || len(words) == 0 || !slices.Contains(a.Queries(), words[0]) {
		return ""
	}
	return words[0]
}

// Words are the words of a command line, taken apart.
type Words struct {
	Rest    []string          // those that belong to no option
	Options map[string]string // by name, without the dashes
}

// TakeApart finds the options of a command line, of which each has a value: --NAME
// VALUE or --NAME=VALUE.
func TakeApart(words, options []string) (Words, error) {
	w := Words{Options: map[string]string{}}
	for i := 0; i < len(words); i++ {
		name, isOption := strings.CutPrefix(words[i], "--")
		if !isOption {
			w.Rest = append(w.Rest, words[i])
			continue
		}
		name, value, given := strings.Cut(name, "=")
		_, twice := w.Options[name]
		switch {
		case !slices.Contains(options, name):
			return w, fmt.Errorf("there is no option --%s here; there are --%s, and the flags of ccm-push go before the pattern", name, strings.Join(options, ", --"))
		case twice:
			return w, fmt.Errorf("--%s is given twice", name)
		case !given && i == len(words)-1:
			return w, errors.New("--" + name + " lacks its value")
		case !given:
			i++
			value = words[i]
		}
		w.Options[name] = value
	}
	return w, nil
}
