package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
)

// natsserver starts a server of NATS until the script ends. $NATS_URL is its URL.
func natsserver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: natsserver")
	}
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: ts.MkAbs("natsserver"), NoLog: true, NoSigs: true,
	})
	ts.Check(err)
	srv.Start()
	ts.Defer(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(time.Minute) {
		ts.Fatalf("the server of NATS does not listen")
	}
	ts.Setenv("NATS_URL", srv.ClientURL())
}

// natsCommand replaces the nats command line in scripts, with the subcommands that they call:
//
//	nats kv add BUCKET
//	nats kv put BUCKET KEY [VALUE]       reads standard input without a value
//	nats object add BUCKET
//	nats object put BUCKET FILE
//	nats sub --count=N SUBJECT           prints a word to standard error once it listens
func natsCommand() {
	if err := natsCalled(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
}

func natsCalled(ctx context.Context, args []string) error {
	link := natsconn.New(natsconn.Config{Servers: os.Getenv("NATS_URL")})
	defer link.Close()
	js, err := link.JetStream(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if len(args) < 3 {
		return fmt.Errorf("%q is not called in scripts", args)
	}
	if args[0] == "sub" {
		return listened(ctx, link, args[1], args[2])
	}
	bucket := args[2]
	switch call := args[0] + " " + args[1]; {
	case call == "kv add":
		_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket})
	case call == "object add":
		_, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket})
	case call == "kv put" && len(args) > 3:
		kv, err := js.KeyValue(ctx, bucket)
		if err != nil {
			return err
		}
		value := []byte(args[len(args)-1])
		if len(args) == 4 {
			if value, err = io.ReadAll(os.Stdin); err != nil {
				return err
			}
		}
		_, err = kv.Put(ctx, args[3], value)
		return err
	case call == "object put" && len(args) > 3:
		objects, err := js.ObjectStore(ctx, bucket)
		if err != nil {
			return err
		}
		_, err = objects.PutFile(ctx, args[3])
		return err
	default:
		return fmt.Errorf("%q is not called in scripts", args)
	}
	return err
}

// listened prints so many messages, each with its subject.
func listened(ctx context.Context, link *natsconn.Link, count, subject string) error {
	n, err := strconv.Atoi(strings.TrimPrefix(count, "--count="))
	if err != nil {
		return err
	}
	conn, err := link.Conn(ctx)
	if err != nil {
		return err
	}
	sub, err := conn.SubscribeSync(subject)
	if err != nil {
		return err
	}
	if err := conn.FlushWithContext(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening")
	for range n {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n%s\n", msg.Subject, msg.Data)
	}
	return nil
}
