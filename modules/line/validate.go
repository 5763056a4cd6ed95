package line

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// Validate implements [modules.Resource].
func (l *Line) Validate() error {
	return errors.Join(
		l.validatePath(),
		l.validateWhat(),
		l.validateText(),
		l.validateBlock(),
		l.validatePlace(),
		l.validateCreate(),
		approval.Validate("validate", l.Validation),
	)
}

func (l *Line) validatePath() error {
	if l.named() == "path" && l.Path == "" && l.Name != "" {
		return &modules.PropertyError{Path: "path", Msg: "path cannot be empty where the name is not the path of the file", Hint: "write path: /etc/hosts"}
	}
	return modules.ValidatePath(l.named(), l.file())
}

// validateWhat asks for a line or a block, and not both.
func (l *Line) validateWhat() error {
	hasLine := l.Line != "" || l.Regexp != ""
	switch {
	case hasLine && l.hasBlock():
		return modules.Errorf("block", "'line' and 'block' are mutually exclusive, with 'regexp' and 'marker'")
	case l.Ensure == absent && !hasLine && !l.hasBlock():
		return &modules.PropertyError{Path: "line", Msg: "there is nothing that shall be absent", Hint: "write line, regexp, block or marker"}
	case l.Ensure == absent:
		return nil
	case l.hasBlock() && l.Block == "":
		return &modules.PropertyError{Path: "block", Msg: "block cannot be empty", Hint: "ensure: absent removes a block"}
	case !l.hasBlock() && l.Line == "":
		return &modules.PropertyError{Path: "line", Msg: "line cannot be empty", Hint: "write the line, or a block; ensure: absent removes what regexp matches"}
	}
	return nil
}

func (l *Line) validateText() error {
	errs := []error{modules.ValidateLine("line", l.Line), modules.ValidateLine("marker", l.Marker)}
	if strings.ContainsAny(l.Block, "\x00\r") {
		errs = append(errs, &modules.PropertyError{Path: "block", Msg: "block has a NUL byte or a carriage return", Hint: `end its lines with \n; in a file with \r\n they get that`})
	}
	if l.hasBlock() && l.Marker == "" {
		errs = append(errs, modules.ValidateLine("name", l.Name))
	}
	return errors.Join(errs...)
}

func (l *Line) validateBlock() error {
	if l.Marker != "" && !strings.Contains(l.Marker, mark) {
		return &modules.PropertyError{Path: "marker", Msg: "marker has no " + mark, Hint: `write a marker such as "# ` + mark + ` my block"`}
	}
	begin, end := l.markers()
	if l.Block != "" && (slices.Contains(l.blockLines(), begin) || slices.Contains(l.blockLines(), end)) {
		return modules.Errorf("block", "block has a line that is one of its markers, %q and %q", begin, end)
	}
	return nil
}

func (l *Line) validatePlace() error {
	var errs []error
	if l.After != "" && l.Before != "" {
		errs = append(errs, modules.Errorf("before", "'after' and 'before' are mutually exclusive"))
	}
	for _, p := range []struct{ property, expression string }{{"regexp", l.Regexp}, {"after", l.After}, {"before", l.Before}} {
		if _, err := compile(p.property, p.expression); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// compile gives nil for an expression that is not given.
func compile(property, expression string) (*regexp.Regexp, error) {
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
		Hint: "the syntax is that of RE2, without look-around and back-references",
	}
	if s, ok := errors.AsType[*syntax.Error](err); ok {
		invalid.Msg = "invalid regular expression: " + string(s.Code) + ": " + s.Expr
	}
	return nil, invalid
}

// validateCreate refuses attributes where no file may be made.
func (l *Line) validateCreate() error {
	var errs []error
	for _, p := range []struct{ property, value string }{{"owner", l.Owner}, {"group", l.Group}, {"mode", l.Mode}} {
		if !l.Create && p.value != "" {
			errs = append(errs, &modules.PropertyError{
				Path: p.property,
				Msg:  p.property + " is only valid with 'create: true'",
				Hint: "a file that is there keeps its own; a file resource changes it",
			})
		}
	}
	if l.Mode != "" {
		_, err := modules.ParseMode(l.Mode)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
