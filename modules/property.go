package modules

import (
	"errors"
	"fmt"
	"strings"
)

// A PropertyError describes the fault of one property. The controller turns it into file:line:column.
type PropertyError struct {
	Path string // the property, with dots and indexes below it: "environment[2]"; "" is the resource itself
	Msg  string // lower case, values quoted with %q
	Hint string // text to write instead; may be empty
	// Unknown is the unknown member of the property at Path, if the error reports such a member. Known has the allowed
	// members.
	Unknown string
	Known   []string
}

func (e *PropertyError) Error() string {
	s := e.Msg
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Errorf makes a [PropertyError] without a hint.
func Errorf(path, format string, args ...any) *PropertyError {
	return &PropertyError{Path: path, Msg: fmt.Sprintf(format, args...)}
}

// QuoteHint returns the hint for err of splitting a command into words: a quote without its end, or a backslash at the end.
func QuoteHint(err error) string {
	if strings.Contains(err.Error(), "backslash") {
		return "remove the backslash at the end, or write two backslashes"
	}
	return "close the quote, or put a backslash before the quote"
}

// AboutProperty returns err as the error of a property. It keeps the hint of a [PropertyError].
func AboutProperty(property string, err error) *PropertyError {
	about := &PropertyError{Path: property, Msg: err.Error()}
	if pe, ok := errors.AsType[*PropertyError](err); ok {
		about.Msg, about.Hint = pe.Msg, pe.Hint
	}
	return about
}

// PropertyErrors splits the error of Validate, Prepare or [CheckTags]. Another error becomes one about the whole
// resource.
func PropertyErrors(err error) []*PropertyError {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*PropertyError
		for _, e := range joined.Unwrap() {
			all = append(all, PropertyErrors(e)...)
		}
		return all
	}
	if pe, ok := errors.AsType[*PropertyError](err); ok {
		return []*PropertyError{pe}
	}
	return []*PropertyError{{Msg: err.Error()}}
}

// Warner is a resource that knows what in its properties is valid, and looks like a
// mistake.
type Warner interface {
	Warnings() []*PropertyError
}
