// Command floor is the lower bound for a fleet tool written in Go: it logs in to hosts with golang.org/x/crypto/ssh
// alone, runs one command on each, and does nothing else. The benchmarks of package e2e compare ccm-push with it.
//
//	floor -user root -key FILE -known-hosts FILE [-run true] HOST:PORT...
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sync/errgroup"
)

// parallel is the number of hosts at once. More would not use less processor time.
const parallel = 64

func main() {
	user := flag.String("user", "root", "the `user` to log in as")
	key := flag.String("key", "", "`file` with the private key")
	known := flag.String("known-hosts", "", "`file` with the hosts' keys")
	command := flag.String("run", "true", "the `command`")
	flag.Parse()
	if err := run(*user, *key, *known, *command, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(user, key, known, command string, hosts []string) error {
	pem, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		return err
	}
	verify, err := knownhosts.New(known)
	if err != nil {
		return err
	}
	config := &ssh.ClientConfig{
		User:            user,
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: verify,
		// The fleet's known_hosts has one kind of key.
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
		Timeout:           10 * time.Second,
	}
	errs := make([]error, len(hosts))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, host := range hosts {
		g.Go(func() error {
			errs[i] = one(host, config, command)
			return nil
		})
	}
	g.Wait()
	return errors.Join(errs...)
}

func one(host string, config *ssh.ClientConfig, command string) error {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return err
	}
	client, err := ssh.Dial("tcp", host, config)
	if err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	defer session.Close()
	if err := session.Run(command); err != nil {
		return fmt.Errorf("%s: %s: %w", host, command, err)
	}
	return nil
}
