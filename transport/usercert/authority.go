package usercert

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"
)

// An Authority certifies keys. Its methods may be called from many goroutines.
type Authority struct {
	name string // for errors
	sign func(context.Context, Request, time.Time) (*ssh.Certificate, error)
}

// Certificate returns a certificate that allows exactly what r requests.
func (a *Authority) Certificate(ctx context.Context, r Request) (*ssh.Certificate, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	cert, err := a.sign(ctx, r, time.Now())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	if err := r.check(cert, time.Now()); err != nil {
		return nil, fmt.Errorf("%s: the certificate is not used: %w", a.name, err)
	}
	return cert, nil
}
