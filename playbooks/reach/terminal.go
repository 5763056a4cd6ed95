package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/transport"
)

// terminalPath is the terminal of the process, wherever its input and output go.
const terminalPath = "/dev/tty"

// errNoTerminal is the error if no terminal can show a prompt.
var errNoTerminal = errors.New("a prompt needs a terminal")

// Ask prompts on the terminal for a secret that is not empty, without an echo. Without an answer, the error is
// [ErrInterrupted].
func Ask(ctx context.Context, prompt string) (*transport.Secret, error) {
	return askPassword(ctx, prompt, "")
}

// ask prompts on the terminal, without an echo. The error of a missing terminal names flag, which reads the answer from
// a file; "" names no flag.
func ask(ctx context.Context, prompt, flag string) (*transport.Secret, error) {
	tty, err := os.OpenFile(terminalPath, os.O_RDWR, 0)
	switch {
	case err != nil && flag == "":
		return nil, fmt.Errorf("%s%w", printable.Line(prompt), errNoTerminal)
	case err != nil:
		return nil, fmt.Errorf("%s%w; pass a file that contains the password: %s", printable.Line(prompt), errNoTerminal, printable.Line(flag))
	}
	defer tty.Close()
	return askOn(ctx, tty, prompt)
}

// askOn prompts on a terminal. The end of ctx counts as Ctrl-C.
func askOn(ctx context.Context, tty *os.File, prompt string) (*transport.Secret, error) {
	restore, err := rawMode(tty)
	if err != nil {
		return nil, fmt.Errorf("%s%w: %w", printable.Line(prompt), errNoTerminal, err)
	}
	defer restore()
	defer context.AfterFunc(ctx, func() { tty.SetReadDeadline(time.Unix(1, 0)) })()
	fmt.Fprint(tty, printable.Line(prompt))
	line, err := readHidden(tty)
	fmt.Fprint(tty, "\r\n")
	if ctx.Err() != nil || errors.Is(err, ErrInterrupted) {
		return nil, ErrInterrupted
	}
	if err != nil {
		return nil, fmt.Errorf("%s%w", printable.Line(prompt), err)
	}
	return transport.NewSecret(line), nil
}

// rawMode has the terminal hand over every key unseen. The file stays one whose
// reads can be interrupted, which its Fd method would end.
func rawMode(tty *os.File) (restore func(), err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return nil, err
	}
	var state *term.State
	if ctlErr := raw.Control(func(fd uintptr) { state, err = term.MakeRaw(int(fd)) }); ctlErr != nil || err != nil {
		return nil, errors.Join(ctlErr, err)
	}
	return func() { raw.Control(func(fd uintptr) { term.Restore(int(fd), state) }) }, nil
}

// Bytes that keys send on a terminal.
const (
	keyInterrupt = 3 // Ctrl-C
	keyEnd       = 4 // Ctrl-D
	keyBackspace = 8
	keyKill      = 21 // Ctrl-U
	keyDelete    = 127
)

var errNoAnswer = errors.New("no answer")

// readHidden reads a line byte by byte, so that the next prompt gets the bytes after it. It handles the keys that a
// terminal would handle itself.
func readHidden(r io.Reader) ([]byte, error) {
	var line []byte
	key := make([]byte, 1)
	for len(line) < maxPassword {
		if _, err := io.ReadFull(r, key); err != nil {
			return nil, errors.Join(errNoAnswer, withoutName(err))
		}
		switch key[0] {
		case '\r', '\n':
			return line, nil
		case keyInterrupt:
			return nil, ErrInterrupted
		case keyEnd:
			if len(line) == 0 {
				return nil, errNoAnswer
			}
			return line, nil
		case keyKill:
			line = line[:0]
		case keyBackspace, keyDelete:
			_, size := utf8.DecodeLastRune(line)
			line = line[:len(line)-size]
		default:
			line = append(line, key[0])
		}
	}
	return nil, errors.New("more than 64 KiB are not an answer")
}
