package document

import (
	"context"
	"errors"
)

// nobody is a host that answers nothing.
type nobody struct{}

func (nobody) Ask(context.Context, string, []any) (any, error) { return nil, errors.New("nobody") }
