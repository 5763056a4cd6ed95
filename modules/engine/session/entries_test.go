package session_test

import (
	"encoding/json"
	"os"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// file is a file of whoever runs the tests; rest are further properties.
func file(path, rest string) modules.Entry {
	props := `{"name":"` + path + `","owner":"` + strconv.Itoa(os.Getuid()) + `","group":"` + strconv.Itoa(os.Getgid()) + `"`
	if rest != "" {
		props += "," + rest
	}
	return modules.Entry{Type: "file", Name: path, Properties: json.RawMessage(props + "}")}
}

func command(line, rest string) modules.Entry {
	props := `{"name":"` + line + `","provider":"shell"`
	if rest != "" {
		props += "," + rest
	}
	return modules.Entry{Type: "exec", Name: line, Properties: json.RawMessage(props + "}")}
}

func with(e modules.Entry, change func(*modules.Entry)) modules.Entry {
	change(&e)
	return e
}

func receiving(e modules.Entry, list ...modules.Receive) modules.Entry {
	e.Receive = list
	return e
}
