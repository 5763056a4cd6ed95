//go:build !host

package modules

// A Strict type asks for properties in a play that is strict which have defaults elsewhere.
type Strict interface {
	// ValidateStrict is beside Validate: its errors are [PropertyError]s too.
	ValidateStrict() error
}

// NotEmpty asks for a text.
func NotEmpty(property, value string) error {
	if value == "" {
		return &PropertyError{Path: property, Msg: property + " cannot be empty", Hint: "the play is strict: write it here, or in defaults"}
	}
	return nil
}
