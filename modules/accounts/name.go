package accounts

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// names is the pattern of names that the tools of all hosts accept: letters, digits, ".", "_" and "-", not with a digit
// or sign first, and at most 32 bytes (useradd(8)).
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*[$]?$`) })

// CheckName returns an error if the tools would refuse a name for an account. It accepts the empty name, which means
// not given.
func CheckName(property, name string) error {
	if name == "" || len(name) <= 32 && names().MatchString(name) {
		return nil
	}
	return &modules.PropertyError{
		Path: property,
		Msg:  fmt.Sprintf("%q cannot be the name of an account", name),
		Hint: "write a letter, then up to 31 letters, digits, dots, dashes and underscores",
	}
}

// CheckID returns an error if the kernel would refuse an id; nil means not given.
func CheckID(property string, id *int) error {
	if id == nil || *id >= 0 && *id <= MaxID {
		return nil
	}
	return modules.Errorf(property, "id %d is outside 0-%d", *id, MaxID)
}
