package edit

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/ccm-push/ccm-push/modules"
)

// A Place is the place of a new line: below or above the last line that an expression matches, or one of the ends. The
// zero Place, and a Place without a match, is the end.
type Place struct{ After, Before string }

// Validate reports errors in the properties "after" and "before".
func (p Place) Validate() error {
	var errs []error
	if p.After != "" && p.Before != "" {
		errs = append(errs, modules.Errorf("before", "'after' and 'before' are mutually exclusive"))
	}
	for _, of := range []struct{ property, expression string }{{"after", p.After}, {"before", p.Before}} {
		_, err := Compile(of.property, of.expression)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// In is the index of the line that will be below it.
func (p Place) In(t *Text) (int, error) {
	property, anchor := "after", p.After
	if p.Before != "" {
		property, anchor = "before", p.Before
	}
	switch anchor {
	case "BOF":
		return 0, nil
	case "", "EOF":
		return len(t.Lines), nil
	}
	re, err := Compile(property, anchor)
	if err != nil {
		return 0, err
	}
	switch at := t.Last(re.MatchString); {
	case at < 0:
		return len(t.Lines), nil
	case p.Before != "":
		return at, nil
	default:
		return at + 1, nil
	}
}

// Compile returns nil for an empty expression.
func Compile(property, expression string) (*regexp.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	re, err := regexp.Compile(expression)
	if err == nil {
		return re, nil
	}
	invalid := &modules.PropertyError{
		Path: property,
		Msg:  "invalid regular expression: " + err.Error(),
		Hint: "use the syntax of RE2, which has no look-around and no back-references",
	}
	if s, ok := errors.AsType[*syntax.Error](err); ok {
		invalid.Msg = "invalid regular expression: " + string(s.Code) + ` in "` + s.Expr + `"`
	}
	return nil, invalid
}
