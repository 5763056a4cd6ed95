package expr

import (
	"context"
	"time"
)

// Names is what expressions can refer to where a document is read. A function that
// is nil has nothing to give. An error that is no [Placed] is told with the column
// of the call.
type Names struct {
	Parameter func(name string) (Part, error)
	Variable  func(name string) (Part, error)
	Function  func(name string) (*Function, error) // of the user, as namespace.name
	CopyIndex func(loop string) (int64, error)     // "" is the innermost loop
	// Resource gives how the host knows the resource with an id that resourceId() gives.
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
	// Argument gives the value of the parameter with that number, from what the function
	// is called with; nil takes everything as it is.
	Argument func(i int, given Part) (Part, error)
	Value    func(*Evaluator) (Part, error)
}

// A Placed is an error that says itself where it stands.
type Placed struct{ Err error }

func (e *Placed) Error() string { return e.Err.Error() }
func (e *Placed) Unwrap() error { return e.Err }

// Environment answers what only the host knows.
type Environment interface {
	// Ask calls one of the functions reference, stateChanged, restartRequired, envvar,
	// tryWhich and context, whose arguments have been checked. Resources are named as
	// [Names].Resource says. The answer is in the form of encoding/json.
	Ask(ctx context.Context, function string, args []any) (any, error)
}
