package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
)

// validateStep reports a --step that can ask nobody, or nothing.
func (f *fleet) validateStep() error {
	switch {
	case !f.mode.step:
	case f.mode.check:
		return errors.New("--step prompts before changes, and --check makes none: use one of them")
	case !f.app.canAsk():
		return errors.New("--step prompts on the terminal, and standard input is not a terminal")
	}
	return nil
}

// stepper asks on the terminal, with --step.
func (f *fleet) stepper() *playbooks.Stepper {
	if !f.mode.step {
		return nil
	}
	return playbooks.NewStepper(f.app.askLine)
}

// askLine asks for a line on the terminal of the process. The end of ctx ends the question.
func (a *app) askLine(ctx context.Context, question string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0) // whose reads can be interrupted
	if err != nil {
		return "", err
	}
	defer tty.Close()
	defer context.AfterFunc(ctx, func() { _ = tty.SetReadDeadline(time.Unix(1, 0)) })()
	if _, err := fmt.Fprint(tty, question); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(tty).ReadString('\n') // a terminal gives no more than a line at once
	if err != nil {
		fmt.Fprintln(tty)
	}
	return line, err
}
