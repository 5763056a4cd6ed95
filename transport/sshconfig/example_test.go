package sshconfig_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

func Example() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "config")
	text := "Host web*\n  HostName %h.example.com\n  IdentityFile ~/.ssh/%r\nHost *\n  User deploy\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	env := sshconfig.Environment{LocalUser: "me", Home: "/home/me"}
	config, err := sshconfig.Load(env, sshconfig.File{Path: path, User: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	settings, err := config.Resolve(sshconfig.Query{Host: "web1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(settings.Text(sshconfig.User), "at", settings.Host(), "with", settings.Values(sshconfig.IdentityFile))
	fmt.Println("the user is from", filepath.Base(settings.Origin(sshconfig.User)))
	// Output:
	// deploy at web1.example.com with [/home/me/.ssh/deploy]
	// the user is from config:5
}
