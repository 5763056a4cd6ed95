package flags

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// withheldFlags have values that may be secrets. @FILE of -e is not withheld.
var withheldFlags = []string{"extra-vars", "fact"}

// Given returns the shared flags of the command line, for the record.
func (a *All) Given() []record.Flag {
	var flags []record.Flag
	a.set.VisitAll(func(flag *pflag.Flag) { // Visit yields only the flags that this set itself has read
		if !flag.Changed {
			return
		}
		words := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			words = list.GetSlice()
		}
		flags = append(flags, Recorded(flag.Name, words))
	})
	return flags
}

// Recorded returns a flag without its values that may be secrets.
func Recorded(name string, words []string) record.Flag {
	kept := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return isWithheld(name, word) })
	return record.Flag{Name: name, Words: kept, Withheld: len(kept) < len(words)}
}

// isWithheld reports whether a value of a flag may be a secret, or hold one.
func isWithheld(name, word string) bool {
	switch {
	case name == NATSFlag, name == WorkersFlag: // several URLs, each perhaps with a password
		return strings.Contains(word, "@")
	case slices.Contains(withheldFlags, name) && (!strings.HasPrefix(word, "@") || word == extravars.Stdin):
		return true
	}
	return source.ShownName(word) != word // a URL may hold a password
}

// Apply sets flags to the values that they had in a run, unless the command line has them. names limits it to these flags.
func Apply(set *pflag.FlagSet, recorded []record.Flag, names ...string) error {
	var errs []error
	for _, f := range recorded {
		flag := set.Lookup(f.Name)
		if flag == nil || flag.Changed || len(names) > 0 && !slices.Contains(names, f.Name) {
			continue
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			errs = append(errs, list.Replace(f.Words))
			flag.Changed = true
			continue
		}
		for _, word := range f.Words {
			errs = append(errs, set.Set(f.Name, word))
		}
	}
	return errors.Join(errs...)
}

// filesOfFlags are the flags whose values may be files.
var filesOfFlags = []string{
	"inventory", "private-key", "known-hosts", "password-file", "become-password-file", "key-passphrase-file", "ssh-config",
	"facts", "parameters", "hiera", "rollout", "workers-key", "workers-list", "workers-operators",
}

// ChangeTo changes to the folder of a run. Relative paths of files on the command line become absolute before.
func ChangeTo(run *record.Run, set *pflag.FlagSet) error {
	for _, name := range filesOfFlags {
		flag := set.Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		list, ok := flag.Value.(pflag.SliceValue)
		if !ok {
			if err := flag.Value.Set(fromHere(flag.Value.String())); err != nil {
				return err
			}
			continue
		}
		words := list.GetSlice()
		for i := range words {
			words[i] = fromHere(words[i])
		}
		if err := list.Replace(words); err != nil {
			return err
		}
	}
	err := os.Chdir(run.Directory)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder of run %s is not there any more: %s: %w", run.Run, run.Directory, fs.ErrNotExist)
	}
	if err != nil {
		return fmt.Errorf("the folder of run %s: %w", run.Run, err)
	}
	return nil
}

// fromHere returns the absolute path of an existing file, and other words unchanged.
func fromHere(word string) string {
	if _, err := os.Stat(word); err != nil {
		return word
	}
	whole, err := filepath.Abs(word)
	if err != nil {
		return word
	}
	return whole
}
