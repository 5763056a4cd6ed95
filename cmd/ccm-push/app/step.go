package app

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"
)

// AskLine prompts for a line on the terminal of the process. The end of ctx ends the prompt.
func (a *App) AskLine(ctx context.Context, question string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0) // whose reads can be interrupted
	if err != nil {
		return "", err
	}
	defer tty.Close()
	defer context.AfterFunc(ctx, func() { _ = tty.SetReadDeadline(time.Unix(1, 0)) })()
	if _, err := fmt.Fprint(tty, question); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(tty).ReadString('\n') // a terminal returns at most one line at once
	if err != nil {
		fmt.Fprintln(tty)
	}
	return line, err
}
