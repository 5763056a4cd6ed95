package line

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Validate implements [modules.Resource].
func (l *Line) Validate() error {
	if l.Restore != nil {
		return edit.ValidatePath(l.Name, l.Path)
	}
	return errors.Join(
		edit.ValidatePath(l.Name, l.Path),
		l.validateWhat(),
		l.validateText(),
		l.validatePlace(),
		l.edited().Validate(),
	)
}

// validateWhat requires a line or a block, and not both.
func (l *Line) validateWhat() error {
	hasLine := l.Line != "" || l.Regexp != ""
	switch {
	case hasLine && l.hasBlock():
		return modules.Errorf("block", "'line' and 'block' are mutually exclusive, with 'regexp' and 'marker'")
	case l.Ensure == absent && !hasLine && !l.hasBlock():
		return &modules.PropertyError{Path: "line", Msg: "nothing to remove is given", Hint: `write "line", "regexp", "block" or "marker"`}
	case l.Ensure == absent:
		return nil
	case l.hasBlock() && l.Block == "":
		return &modules.PropertyError{Path: "block", Msg: `"block" cannot be empty`, Hint: "ensure: absent removes a block"}
	case !l.hasBlock() && l.Line == "":
		return &modules.PropertyError{Path: "line", Msg: `"line" cannot be empty`, Hint: `write the line, or a block; ensure: absent removes what "regexp" matches`}
	}
	return nil
}

func (l *Line) validateText() error {
	err := modules.ValidateLine("line", l.Line)
	if l.hasBlock() {
		err = errors.Join(err, edit.ValidateBlock(l.Block, l.Marker, l.Name))
	}
	return err
}

func (l *Line) validatePlace() error {
	_, err := edit.Compile("regexp", l.Regexp)
	return errors.Join(err, l.place().Validate())
}
