package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/record"
)

// filesOfFlags are the flags whose values may be files.
var filesOfFlags = []string{
	"inventory", "private-key", "known-hosts", "password-file", "become-password-file", "key-passphrase-file", "ssh-config",
	"facts", "parameters", "hiera", "rollout", "workers-key", "workers-list", "workers-operators",
}

// changeTo gives the program the folder of a run. Files that are given on the command line stay
// those that they are here.
func changeTo(run *record.Run, set *pflag.FlagSet) error {
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

// fromHere gives the whole path of a file that is there; another word stays as it is.
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
