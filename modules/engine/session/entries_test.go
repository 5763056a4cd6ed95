package session_test

import (
	"encoding/json"
	"os"
	"strconv"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// file is a file of whoever runs the tests; rest are further properties.
func file(path, rest string) wire.Entry {
	props := `{"name":"` + path + `","owner":"` + strconv.Itoa(os.Getuid()) + `","group":"` + strconv.Itoa(os.Getgid()) + `"`
	if rest != "" {
		props += "," + rest
	}
	return wire.Entry{Type: "file", Name: path, Properties: json.RawMessage(props + "}")}
}

func command(line, rest string) wire.Entry {
	props := `{"name":"` + line + `","provider":"shell"`
	if rest != "" {
		props += "," + rest
	}
	return wire.Entry{Type: "exec", Name: line, Properties: json.RawMessage(props + "}")}
}

func with(e wire.Entry, change func(*wire.Entry)) wire.Entry {
	change(&e)
	return e
}

func receiving(e wire.Entry, list ...wire.Receive) wire.Entry {
	e.Receive = list
	return e
}
