// Package images has what producer and worker share.
package images

import (
	"log"
	"os"

	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

// Queue is where the jobs are.
const Queue = "images"

// Resize is the data of a job of the type resize.
type Resize struct {
	File  string `json:"file"`
	Width int    `json:"width"`
}

// Resized is its result.
type Resized struct {
	File string `json:"file"`
}

// Connect makes a client of the server that the environment names, or ends the program.
func Connect() *pumphouse.Client {
	client, err := pumphouse.New(pumphouse.Config{
		URL: env("PUMPHOUSE_URL", "http://127.0.0.1:7777"), Namespace: env("PUMPHOUSE_NAMESPACE", "demo"), Token: os.Getenv("PUMPHOUSE_TOKEN"),
	})
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func env(name, without string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return without
}
