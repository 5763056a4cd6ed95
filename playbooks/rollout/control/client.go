package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// ErrNobody means that no program runs the rollout: it has ended, or was killed.
var ErrNobody = errors.New("no program runs it any more")

// Send sends a command to the rollout of the run with a folder, and returns its reply. The error wraps [ErrNobody] if
// no program runs it.
func Send(ctx context.Context, folder string, c rollout.Command) (rollout.Reply, error) {
	path, done, err := reachable(folder)
	if err != nil {
		return rollout.Reply{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, replyTime+2*commandTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return rollout.Reply{}, ErrNobody
	case err != nil:
		return rollout.Reply{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	reply, err := converse(conn, c)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return reply, err
}

func converse(conn io.ReadWriter, c rollout.Command) (reply rollout.Reply, err error) {
	line, err := json.Marshal(c)
	if err != nil {
		return reply, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return reply, fmt.Errorf("saying %s: %w", c.Verb, err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, longestReply+1))
	switch {
	case err != nil:
		return reply, fmt.Errorf("reading the answer: %w", err)
	case len(answer) > longestReply:
		return reply, fmt.Errorf("the answer has more than %d bytes", longestReply)
	case len(answer) == 0: // killed in the midst of it
		return reply, ErrNobody
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return rollout.Reply{}, fmt.Errorf("reading the answer: %w", err)
	}
	return reply, nil
}
