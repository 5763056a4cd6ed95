package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/sealed/project"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
)

// Command returns the command secret with its subcommands.
func Command(f *access.Unsealer, p *output.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "secret",
		Short: "encrypt values in files; people decrypt them with their SSH or age keys",
		Long: `ccm-push secret encrypts single values of YAML files with age, for the SSH or age keys of people. The
other values, all names and comments stay in clear text:

  db_user: app
  db_password: !age 8yW4dQ…

The file .ccm-secrets.yaml in the top folder of a project lists which people can read which files.
Paths start at this folder: * and ? match within a folder, ** matches across folders. The first
matching rule applies to a file:

  people:
    anna: ssh-ed25519 AAAA…            # a line of ~/.ssh/id_ed25519.pub
    bert: [ssh-rsa AAAA…, age1…]       # one key is enough to read
  groups:
    ops: [anna, bert]
  rules:
    - {path: "group_vars/prod/**", to: ops}
    - {path: "**", to: [anna, bert]}

To decrypt, ccm-push uses the private keys of --age-identity or the variable CCM_AGE_IDENTITY. If
neither is set, it uses ~/.ssh/id_ed25519, ~/.ssh/id_rsa, ~/.config/age/keys.txt and the key file of
sops. If a key has a passphrase, ccm-push prompts once. SSH agents, hardware keys (sk-) and ECDSA
keys cannot decrypt.

KEY is the path of a value in a file, such as db.password, users[0].key or hosts."web1.example.org".`,
		Example: `  ccm-push secret edit group_vars/all.yaml
  ccm-push secret set group_vars/all.yaml db.password
  ccm-push secret encrypt vars.yaml
  ccm-push secret rekey
  ccm-push secret who`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(
		secretEditCommand(f, p), secretEncryptCommand(f, p), secretGetCommand(f, p), secretImportVaultCommand(f, p),
		secretRekeyCommand(f, p), secretSetCommand(f, p), secretWhoCommand(p),
	)
	return c
}

// openFile reads a file of a project, which is to exist.
func openFile(name string) (*project.Document, error) {
	file, err := project.Open(name)
	if err == nil && !file.Exists {
		err = &yamlpos.Error{File: name, Msg: "no such file", Hint: "make it: ccm-push secret edit " + name}
	}
	return file, err
}

func exactly(n int, words string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("secret %s takes %s (got %d arguments)", cmd.Name(), words, len(args))
		}
		return arguments.AtLeast(n)(cmd, args)
	}
}

func secretGetCommand(f *access.Unsealer, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "get FILE [KEY]",
		Short: "print a decrypted value, or a whole file",
		Long: `ccm-push secret get prints one decrypted value, with a newline at its end. Without KEY, it prints
the whole file with decrypted values, each marked with !secret. To see readable diffs in git, use
this command as textconv:

  git config diff.secrets.textconv 'ccm-push secret get'`,
		Example: `  ccm-push secret get group_vars/all.yaml db.password
  ccm-push secret get vars.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return exactly(2, "FILE and KEY")(cmd, args)
			}
			return arguments.AtLeast(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.TextOnly("secret get"); err != nil {
				return err
			}
			text, err := get(cmd.Context(), f, args[0], args[1:])
			if err != nil {
				return err
			}
			if !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			_, err = io.WriteString(p.App.Out, text)
			return err
		},
	}
}

func get(ctx context.Context, f *access.Unsealer, name string, key []string) (string, error) {
	file, err := openFile(name)
	if err != nil {
		return "", err
	}
	keys := f.AgeKeys(ctx)
	if len(key) == 0 {
		text, err := file.Clear(keys)
		return string(text), err
	}
	path, err := yamlpos.ParsePath(key[0])
	if err != nil {
		return "", err
	}
	return file.Value(path, keys)
}

func secretSetCommand(f *access.Unsealer, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "set FILE KEY",
		Short: "encrypt a value from standard input or a prompt",
		Long: `ccm-push secret set encrypts a value, and stores it in the YAML file FILE under the name KEY. The
value comes from standard input, or from a prompt on a terminal. If the value is a single line,
ccm-push removes the newline at its end. The rest of the file does not change. If FILE or the name
KEY does not exist, the command creates it.`,
		Example: `  ccm-push secret set group_vars/all.yaml db.password
  ccm-push secret set host_vars/web1.yaml tls.key < web1.key`,
		Args: exactly(2, "FILE and KEY; the value is read from standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.TextOnly("secret set"); err != nil {
				return err
			}
			return set(cmd.Context(), f, args[0], args[1])
		},
	}
}

func set(ctx context.Context, f *access.Unsealer, name, key string) error {
	file, err := project.Open(name)
	if err != nil {
		return err
	}
	if file.Whole {
		return wholeError(name)
	}
	path, err := yamlpos.ParsePath(key)
	if err != nil {
		return err
	}
	if err := errors.Join(file.File.Moved(), file.Unlock(f.AgeKeys(ctx))); err != nil {
		return err
	}
	value, err := secretValue(ctx, f.App, key)
	if err != nil {
		return err
	}
	clear, err := file.File.Set(path, value)
	if err != nil {
		return err
	}
	_, err = file.Save(clear)
	return err
}

func wholeError(name string) error {
	return &yamlpos.Error{File: name, Msg: "the file is encrypted as a whole, and has no single values", Hint: "ccm-push secret edit " + name}
}

// maxValue bounds a value, in bytes.
const maxValue = 1 << 20

// secretValue prompts for a value, or reads it from standard input.
func secretValue(ctx context.Context, a *app.App, key string) (string, error) {
	if a.CanAsk() {
		waiting, end := a.UntilStop(ctx)
		defer end()
		answer, err := reach.Ask(waiting, "value of "+key+": ")
		if err != nil {
			return "", exit.Prompted(err)
		}
		return string(answer.Reveal()), nil
	}
	raw, err := io.ReadAll(io.LimitReader(a.In, maxValue+1))
	text := string(raw)
	if line := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"); !strings.Contains(line, "\n") {
		text = line
	}
	switch {
	case err != nil:
		return "", err
	case len(raw) > maxValue:
		return "", fmt.Errorf("the value of %s is larger than %d MiB", key, maxValue>>20)
	case text == "":
		return "", fmt.Errorf("no value for %s on standard input", key)
	case !utf8.ValidString(text):
		return "", fmt.Errorf("the value of the key %q is not UTF-8 text\n  hint: write the value in base64, or encrypt a whole file: ccm-push secret encrypt --whole FILE", key)
	}
	return text, nil
}

func secretEncryptCommand(f *access.Unsealer, p *output.Printer) *cobra.Command {
	whole := false
	c := &cobra.Command{
		Use:   "encrypt FILE...",
		Short: "encrypt the values that are marked !secret, or whole files",
		Long: `ccm-push secret encrypt encrypts values of YAML files in place. It encrypts each value with the mark
!secret. If a map or list has the mark, all of its values are encrypted. Each decrypted value is a
text, even if it looks like a number, such as 8080. With --whole, the command encrypts a whole file
of any kind, like age -e -a.

If you have committed a value to git in clear text, the history of git still contains the value.
Change this secret.`,
		Example: `  ccm-push secret encrypt group_vars/all.yaml
  ccm-push secret encrypt --whole licence.key`,
		Args: arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.TextOnly("secret encrypt"); err != nil {
				return err
			}
			var wrong error
			for _, name := range args {
				text, err := encrypt(cmd.Context(), f, name, whole)
				wrong = errors.Join(wrong, err)
				if err == nil {
					wrong = errors.Join(wrong, p.Print(text+"\n"))
				}
			}
			return wrong
		},
	}
	c.Flags().BoolVar(&whole, "whole", false, "encrypt the whole file; it may be of any kind")
	return c
}

func encrypt(ctx context.Context, f *access.Unsealer, name string, whole bool) (said string, err error) {
	if whole {
		return encryptWhole(name)
	}
	file, err := openFile(name)
	if err != nil {
		return "", err
	}
	if file.Whole {
		return "", &yamlpos.Error{File: name, Msg: "the file is encrypted already, as a whole"}
	}
	marked := len(file.File.Marked())
	if marked == 0 {
		return "", &yamlpos.Error{File: name, Msg: "nothing in it is marked as !secret", Hint: "write KEY: !secret VALUE; or encrypt the whole file: --whole"}
	}
	clear, err := file.Clear(f.AgeKeys(ctx))
	if err != nil {
		return "", err
	}
	if _, err := file.Save(clear); err != nil {
		return "", err
	}
	return encryptedValues(file, marked), nil
}

// encryptedValues returns a message that n values of a file are encrypted now.
func encryptedValues(d *project.Document, n int) string {
	values := "values"
	if n == 1 {
		values = "value"
	}
	return fmt.Sprintf("%s: encrypted %d %s, for %s", events.Line(d.Name), n, values, forWhom(d))
}

func encryptWhole(name string) (said string, err error) {
	p, err := project.Of(name)
	if err != nil {
		return "", err
	}
	d, err := p.ReadAny(name)
	switch {
	case err != nil:
		return "", err
	case d.Whole:
		return "", &yamlpos.Error{File: name, Msg: "the file is encrypted already, as a whole"}
	}
	if err := d.EncryptWhole(d.Text); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: encrypted, for %s", events.Line(name), forWhom(d)), nil
}

// forWhom returns the names of the readers of a file: the readers in its header if it has one, else the readers of the
// rules.
func forWhom(d *project.Document) string {
	if d.File != nil && d.File.Header != nil {
		return namesOf(d.File.Header.Readers)
	}
	var names []string
	readers, _ := d.Readers() // it has been encrypted to them
	for _, r := range readers {
		names = append(names, r.Name)
	}
	return events.Line(strings.Join(slices.Compact(names), ", "))
}
