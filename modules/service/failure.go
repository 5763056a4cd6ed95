package service

import "strings"

// failure is why a service is not as it should be.
type failure struct {
	text     string
	safe     string   // text, as far as it may be shown of a sensitive resource
	evidence []string // what the service itself has logged
}

func (f *failure) Error() string {
	if len(f.evidence) == 0 {
		return f.text
	}
	return f.text + "; its log ends with:\n  " + strings.Join(f.evidence, "\n  ")
}

// Redacted implements [modules.Redactor]: nobody knows what services log.
func (f *failure) Redacted() string { return f.safe }
