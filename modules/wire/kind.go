package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Message is written and read as its only field. Otherwise encoding/json would use reflection on the fields of all
// kinds of messages, although a usual run needs only four kinds.

// Rehearse reads an empty catalog and writes an empty result, so that encoding/json knows their fields. A host program has time for that
// while it waits for its first catalog.
func Rehearse() {
	if err := new(Message).decode([]byte(`{"catalog":{}}`)); err != nil {
		panic(err) // the line is a constant
	}
	if _, err := (&Message{Result: &Result{}}).encode(); err != nil {
		panic(err)
	}
}

// kinds are the numbers of the fields of a Message, by the names that they have in JSON.
var kinds = func() map[string]int {
	t := reflect.TypeFor[Message]()
	all := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		all[kindOf(t.Field(i))] = i
	}
	return all
}()

func kindOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// encode returns the same bytes as json.Marshal for a valid message.
func (m *Message) encode() ([]byte, error) {
	v := reflect.ValueOf(m).Elem()
	i := 0
	for v.Field(i).IsNil() {
		i++
	}
	value, err := json.Marshal(v.Field(i).Interface())
	if err != nil {
		return nil, err
	}
	line := append(make([]byte, 0, len(value)+32), `{"`+kindOf(v.Type().Field(i))+`":`...)
	return append(append(line, value...), '}'), nil
}

// decode reads a message that is then to be validated.
func (m *Message) decode(line []byte) error {
	rest, plain := bytes.CutPrefix(line, []byte(`{"`))
	name, value, named := bytes.Cut(rest, []byte(`":`))
	value, whole := bytes.CutSuffix(bytes.TrimRight(value, "\n"), []byte("}"))
	if i, known := kinds[string(name)]; known && plain && named && whole {
		field := reflect.ValueOf(m).Elem().Field(i)
		alone := reflect.New(field.Type())
		if modules.DecodeStrict(value, alone.Interface()) == nil {
			field.Set(alone.Elem())
			return nil
		}
	}
	return modules.DecodeStrict(line, m) // it is written otherwise, has several fields, or an error
}
