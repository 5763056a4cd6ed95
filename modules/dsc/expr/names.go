package expr

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Names holds the objects that expressions can refer to in the place of a document. A nil function means no objects. An
// error other than a [Placed] is reported with the column of the call.
type Names struct {
	Parameter func(name string) (Result, error)
	Variable  func(name string) (Result, error)
	Function  func(name string) (*Function, error) // user functions, as namespace.name
	CopyIndex func(loop string) (int64, error)     // "" is the innermost loop
	// Resource returns the host's name of the resource with an id that resourceId() returns.
	Resource func(id string) (ref string, err error)
	// Earlier are the resources that run before, as the host knows them.
	Earlier func() []string
	// Now is the time for utcNow(), which only defaults of parameters may call.
	Now func() time.Time
}

// A Function is one that a document defines. It sees its own parameters alone.
type Function struct {
	Name       string
	Parameters []string
	// Argument returns the value of the parameter with that number for a given argument; nil passes arguments
	// unchanged.
	Argument func(i int, given Result) (Result, error)
	Value    func(context.Context, *Evaluator) (Result, error)
}

// A Placed is an error that contains its position.
type Placed struct{ Err error }

func (e *Placed) Error() string { return e.Err.Error() }
func (e *Placed) Unwrap() error { return e.Err }

// Environment answers what only the host knows.
type Environment interface {
	// Ask calls one of the functions reference, stateChanged, restartRequired, envvar, tryWhich and context, whose
	// arguments have been checked. Resources have the names of [Names].Resource. The answer is in the form of
	// encoding/json.
	Ask(ctx context.Context, function string, args []any) (any, error)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// suggestion returns the hint with the known name that is nearest to name; "" if none is near.
func suggestion(name string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// Nearest returns the first of the known names with the fewest edits from name, at most two, whatever the case, or "".
func Nearest(name string, known []string) string {
	best, least := "", 3
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance returns the edit distance of two words, or something not below most.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
