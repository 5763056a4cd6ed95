package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// forceCommand is the option of a certificate that allows one command only.
const forceCommand = "force-command"

// makeRelays makes the homes of relays.
func (f *fleet) makeRelays() error {
	f.homes = map[string]string{}
	for i := range f.relays {
		home := filepath.Join(f.dir, "relays", strconv.Itoa(i+1))
		if err := os.MkdirAll(home, 0o700); err != nil {
			return err
		}
		f.homes[f.address(i)] = home
	}
	return nil
}

// relay plays a relay, which has a shell of its own for commands without an end. Its key and its deliveries, which
// package relay makes in scripts, are simulated: a thousand runs of ssh(1) would take a minute of processor time, which
// real relays share. For the same reason a delivery logs in and runs its command, but the file stays where it is: the
// host gets its hash when the relay would have sent it.
func (f *fleet) relay(address, home string, channel ssh.Channel, command string) (code uint32) {
	if words := arguments(command); len(words) == 1 {
		if err := f.keep(address, home, words[0], channel); err != nil {
			fmt.Fprintln(channel.Stderr(), err)
			return 1
		}
		return 0
	}
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "SSH_CONNECTION=" + address + " 1 " + address + " 22"}
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		return 1
	}
	go func() { // until the channel has ended, which need not be before the command has
		_, _ = io.Copy(stdin, channel)
		stdin.Close()
	}()
	_ = cmd.Wait()
	return uint32(cmd.ProcessState.ExitCode())
}

// keep makes a key for a relay, and delivers with it.
func (f *fleet) keep(address, home, nonce string, channel ssh.Channel) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return err
	}
	fmt.Fprintln(channel, "addr", nonce, "inet", address)
	fmt.Fprint(channel, "key ", nonce, " ", string(ssh.MarshalAuthorizedKey(key.PublicKey())))
	certified := map[string]ssh.Signer{} // by the names of certificates
	have := &files{home: home, each: f.each}
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	for orders := bufio.NewScanner(channel); orders.Scan(); {
		word, rest, _ := strings.Cut(orders.Text(), " ")
		switch words := strings.Fields(rest); {
		case word == "cert" && len(words) > 1:
			cert, _, _, _, err := ssh.ParseAuthorizedKey([]byte(strings.Join(words[1:], " ")))
			if err != nil {
				return err
			}
			if certified[words[0]], err = ssh.NewCertSigner(cert.(*ssh.Certificate), key); err != nil {
				return err
			}
		case word == "to" && len(words) == 8:
			signer := certified[words[5]]
			deliveries.Go(func() {
				said, err := deliver(address, have, signer, words)
				if err != nil {
					fmt.Fprintf(channel, "%s %v\n%[1]s ended 255\n", words[0], err)
					return
				}
				for line := range strings.Lines(said) {
					fmt.Fprint(channel, words[0], " ", line)
				}
				fmt.Fprintln(channel, words[0], "ended 0")
			})
		}
	}
	return nil
}

// files are the files of a relay.
type files struct {
	home string
	each time.Duration // how long the relay is at one delivery

	mu    sync.Mutex
	known map[string]bool // hashes of files that have been read
	free  time.Time       // time at which its current deliveries end
}

// carry returns the hash of a file at the time when the relay would have sent it.
func (f *files) carry(hash string) (line string, err error) {
	f.mu.Lock()
	if !f.known[hash] {
		if err = f.read(hash); err == nil {
			f.known = map[string]bool{hash: true}
		}
	}
	if now := time.Now(); f.free.Before(now) {
		f.free = now
	}
	f.free = f.free.Add(f.each)
	wait := time.Until(f.free)
	f.mu.Unlock()
	time.Sleep(wait)
	return hash + "\n", err
}

// read reads a file whose name is its hash.
func (f *files) read(hash string) error {
	file, err := os.Open(filepath.Join(f.home, ".cache/ccm-push", hash+".gz"))
	if err != nil {
		return err
	}
	defer file.Close()
	state, err := file.Stat()
	if err != nil {
		return err
	}
	return content(file, state.Size(), hash)
}

// deliver brings the hash of a file to a host: ID SHA256 USER ADDRESS PORT NAME TYPE KEY.
func deliver(address string, have *files, signer ssh.Signer, words []string) (said string, err error) {
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(words[6] + " " + words[7]))
	if err != nil {
		return "", err
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	to := net.JoinHostPort(words[3], words[4])
	conn, err := from.Dial("tcp", to)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	login, channels, requests, err := ssh.NewClientConn(conn, to, &ssh.ClientConfig{
		User: words[2], Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.FixedHostKey(hostKey),
	})
	if err != nil {
		return "", err
	}
	session, err := ssh.NewClient(login, channels, requests).NewSession()
	if err != nil {
		return "", err
	}
	line, err := have.carry(words[1])
	if err != nil {
		return "", err
	}
	session.Stdin = strings.NewReader(line)
	out, err := session.Output("take")
	return string(out), err
}

// take plays a host to which a relay delivers: NONCE SHA256 SIZE.
func (f *fleet) take(address string, channel ssh.Channel, command string) {
	words := arguments(command)
	if len(words) != 3 {
		return
	}
	nonce, hash := words[0], words[1]
	time.Sleep(f.near)
	if have, _ := f.taken.Load(address); have != hash {
		fmt.Fprintln(channel, "want", nonce)
		if carried, err := bufio.NewReader(channel).ReadString('\n'); err != nil || strings.TrimSpace(carried) != hash {
			fmt.Fprintln(channel, "fail", nonce, "hash")
			return
		}
		f.taken.Store(address, hash)
	}
	fmt.Fprintf(channel, "took %s /home/sim/.cache/ccm-push/%s.gz\n", nonce, hash)
}

// content reads so many bytes with a SHA-256, and keeps none.
func content(from io.Reader, size int64, hash string) error {
	sum := sha256.New()
	if _, err := io.CopyN(sum, from, size); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != hash {
		return errors.New("it has another hash")
	}
	return nil
}

// install plays a host that has the host program or gets it, as the script that starts it does.
func (f *fleet) install(address, nonce string, stdin *bufio.Reader, channel ssh.Channel) error {
	if _, has := f.installed.Load(address); has {
		return nil
	}
	for {
		fmt.Fprintln(channel, "need", nonce, f.os, f.arch)
		header, err := stdin.ReadString('\n')
		if err != nil {
			return err
		}
		var size int64
		var hash, file string
		if n, err := fmt.Sscan(header, &size, &hash, &file); n < 2 {
			return err
		}
		have, _ := f.taken.Load(address)
		switch {
		case file == "":
			if err := content(stdin, size, hash); err != nil {
				return err
			}
			f.sent.Add(1)
		case have != hash:
			continue
		}
		f.installed.Store(address, true)
		return nil
	}
}
