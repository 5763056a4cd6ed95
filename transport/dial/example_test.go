package dial_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func ExampleDialer_Dial() {
	srv, err := sshtest.Serve(context.Background(), sshtest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	var dialer dial.Dialer
	defer dialer.Close()

	web1 := transport.Target{
		Host: "web1", Address: srv.Host, Port: srv.Port, User: "nobody",
		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
	}
	_, err = dialer.Dial(context.Background(), web1)
	fmt.Println(transport.Unreachable(err))

	web1.User = srv.User
	client, err := dialer.Dial(context.Background(), web1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("connected")
	client.Close()
	// Output:
	// true
	// connected
}
