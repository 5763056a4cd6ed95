package accounts

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// names are those that the tools of all hosts take: letters, digits, ".", "_"
// and "-", no digit or sign first, and at most 32 bytes (useradd(8)).
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*[$]?$`) })

// CheckName holds a name for an account against what tools take. Nothing is said
// of the empty name, which is not given.
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

// CheckID holds an id, if it is given, against what the kernel takes.
func CheckID(property string, id *int) error {
	if id == nil || *id >= 0 && *id <= MaxID {
		return nil
	}
	return modules.Errorf(property, "id %d is outside 0-%d", *id, MaxID)
}
