package usercert

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// ByAgent returns an authority whose key is in the agent at a socket, as ssh-keygen -U uses it. The agent may prompt a
// person before it signs.
func ByAgent(socket string, key ssh.PublicKey) *Authority {
	return &Authority{"the authority " + ssh.FingerprintSHA256(key), func(ctx context.Context, r Request, now time.Time) (*ssh.Certificate, error) {
		cert := r.unsigned(now)
		if socket == "" {
			return nil, errors.New("no SSH agent is running: start one, and add its key (ssh-add)")
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, fmt.Errorf("query of the SSH agent: %w", err)
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		err = signWith(agent.NewClient(conn), key, cert)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return cert, err
	}}
}

func signWith(a agent.Agent, key ssh.PublicKey, cert *ssh.Certificate) error {
	signers, err := a.Signers()
	if err != nil {
		return fmt.Errorf("query of the SSH agent: %w", err)
	}
	for _, s := range signers {
		if knownhosts.SameKey(s.PublicKey(), key) {
			return cert.SignCert(rand.Reader, s)
		}
	}
	return errors.New("the agent does not hold its key: add it with ssh-add")
}

// unsigned returns the requested certificate without a signature. Its validity begins in the past, since the clock of a
// host may be slow.
func (r Request) unsigned(now time.Time) *ssh.Certificate {
	var serial [8]byte
	_, _ = rand.Read(serial[:]) // it never fails
	return &ssh.Certificate{
		Key: r.Key, CertType: ssh.UserCert, KeyId: r.ID, ValidPrincipals: r.Principals, Serial: binary.BigEndian.Uint64(serial[:]),
		ValidAfter: uint64(now.Add(-clockSkew).Unix()), ValidBefore: uint64(now.Add(r.ValidFor).Unix()),
		Permissions: ssh.Permissions{CriticalOptions: r.criticalOptions(), Extensions: r.extensions()},
	}
}
