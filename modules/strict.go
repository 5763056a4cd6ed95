//go:build !host

package modules

import "strconv"

// A Strict type requires, in a strict play, properties that have defaults elsewhere.
type Strict interface {
	// ValidateStrict is called in addition to Validate: its errors are [PropertyError]s, too.
	ValidateStrict() error
}

// NotEmpty returns an error if a text is missing.
func NotEmpty(property, value string) error {
	if value == "" {
		return &PropertyError{Path: property, Msg: "the property " + strconv.Quote(property) + " is missing or empty (the play sets strict: true)", Hint: "set " + strconv.Quote(property) + ` here, or under "defaults" of the play`}
	}
	return nil
}
