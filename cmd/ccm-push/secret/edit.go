package secret

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/sealed/private"
	"github.com/ccm-push/ccm-push/inventory/sealed/project"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func secretEditCommand(f *access.Unsealer, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "edit FILE",
		Short: "edit a file with its values in clear text",
		Long: `ccm-push secret edit opens a file in an editor ($VISUAL, $EDITOR or vi), with decrypted values. Each
of these values has the mark !secret. When the editor ends, ccm-push encrypts the marked values
again. If you did not change a value, its encrypted text stays the same. If FILE does not exist, the
command creates it.

The editor works on a temporary file, which only your user can read. The file is in memory if the
system has the folder /dev/shm. After the edit, ccm-push overwrites and removes the file. Configure
your editor to write no copies to other folders. For vim, ccm-push does this itself.`,
		Example: `  ccm-push secret edit group_vars/all.yaml`,
		Args:    exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.TextOnly("secret edit"); err != nil {
				return err
			}
			return edit(cmd.Context(), f, p, args[0])
		},
	}
}

func edit(ctx context.Context, f *access.Unsealer, p *output.Printer, name string) (err error) {
	file, err := project.Open(name)
	if err != nil {
		return err
	}
	if !file.Encrypted() { // it is known beforehand that it can be
		if _, err := file.Readers(); err != nil {
			return err
		}
	}
	editor, err := private.EditorOf(f.App.Getenv)
	if err != nil {
		return err
	}
	editor.Stdin, editor.Stdout, editor.Stderr = f.App.In, output.FileOf(p.App.Out), output.FileOf(p.App.Err)
	clear, err := file.Clear(f.AgeKeys(ctx))
	if err != nil {
		return err
	}
	text, err := private.Write(name, clear)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	ctx, end := f.App.UntilStop(ctx)
	defer end()
	for {
		after, err := text.Edit(ctx, editor)
		switch {
		case errors.Is(err, context.Canceled):
			return exit.Status(exit.Interrupted)
		case err != nil:
			return err
		case bytes.Equal(after, clear) && (file.Whole || len(file.File.Marked()) == 0):
			return p.Print(events.Line(name) + ": nothing has changed\n")
		}
		_, err = file.Save(after)
		if err == nil || !editAgain(ctx, f, err) {
			return err
		}
	}
}

// editAgain prompts the operator after an encryption error, and reports whether to edit the text again.
func editAgain(ctx context.Context, f *access.Unsealer, wrong error) bool {
	if !f.App.CanAsk() {
		return false
	}
	f.App.Say(events.Block(wrong.Error()))
	fmt.Fprint(f.App.Err, "edit it again? If not, what you have written is lost. [Y/n] ")
	answer := make(chan string, 1)
	go func() { // ends with the program if there is no answer: a terminal cannot be given up
		line, err := bufio.NewReader(f.App.In).ReadString('\n')
		if err != nil {
			line = "n"
		}
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case said := <-answer:
		return said != "n" && said != "no"
	case <-ctx.Done():
		return false
	}
}
