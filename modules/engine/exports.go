package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// stateKey is the key that every type sends whose resources report a state.
const stateKey = "state"

// exports are the values that a job has for others.
type exports struct {
	wanted  map[string]bool            // the keys that others want, without what leads into those
	sent    map[string]json.RawMessage // nil before it has run
	unsent  error                      // why a value is not among those
	unknown bool                       // others are sent once it is applied
}

// want notes that others want the value of a key.
func (e *exports) want(key string) {
	if e.wanted == nil {
		e.wanted = map[string]bool{}
	}
	key, _, _ = strings.Cut(key, ".")
	e.wanted[key] = true
}

// value returns the value sent as key, or why there is none: skipped and ran describe the job.
func (e *exports) value(key string, skipped, ran bool) (json.RawMessage, error) {
	first, rest, deeper := strings.Cut(key, ".")
	value, ok := e.sent[first]
	switch {
	case ok:
	case e.unsent != nil:
		return nil, e.unsent
	case skipped:
		return nil, errors.New("it was skipped")
	case first == stateKey:
		return nil, errors.New("it does not report its state")
	case ran:
		return nil, errors.New("the resource has no value with this name, or the value is too long or not text")
	default:
		return nil, errors.New(`the resource has never run on this host, or its output was lost; to run the resource again, remove "creates", "onlyif" and "unless" for one run`)
	}
	for deeper {
		var part string
		part, rest, deeper = strings.Cut(rest, ".")
		if value, ok = element(value, part); !ok {
			return nil, fmt.Errorf("its sent value has no %q", part)
		}
	}
	return value, nil
}

// element returns a member of an object, or an element of an array by its number.
func element(value json.RawMessage, name string) (json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil {
		value, ok := object[name]
		return value, ok
	}
	var array []json.RawMessage
	n, err := strconv.Atoi(name)
	if err != nil || json.Unmarshal(value, &array) != nil || n < 0 || n >= len(array) {
		return nil, false
	}
	return array[n], true
}
