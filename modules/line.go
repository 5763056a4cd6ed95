package modules

import "strings"

// ValidateLine holds the value of a property against what can stand on one line
// of a file. The error is a [PropertyError].
func ValidateLine(property, value string) error {
	if strings.ContainsAny(value, "\x00\r\n") {
		return Errorf(property, "%s must be one line, without NUL bytes", property)
	}
	return nil
}
