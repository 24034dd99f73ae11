package pumphouse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// leasedJobs reads the jobs of an answer. One payload that cannot be read does not stop the others: each is read alone then.
func leasedJobs(answer []byte) ([]*Job, error) {
	var whole struct{ Jobs []*Job }
	err := json.Unmarshal(answer, &whole)
	if err == nil {
		for _, job := range whole.Jobs {
			job.decode()
		}
		return whole.Jobs, nil
	}
	var jobs []*Job
	// guard: go-reads-jobs-alone
	for _, text := range jobTexts(answer) {
		job := new(Job)
		if json.Unmarshal(text.whole, job) != nil {
			job = text.readable()
		}
		if job.ID == "" || job.Lease == 0 {
			continue
		}
		job.decode()
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 {
		return nil, &Error{Code: "invalid_response", Message: "the answer is not what it should be", Status: 200, Err: err}
	}
	return jobs, nil
}

// decode reads JSON that the server gives in base64, because it is nested deeply.
func (j *Job) decode() {
	if j.JSON != nil || j.Bytes == nil || !jsonType.MatchString(j.ContentType) {
		return
	}
	var text json.RawMessage
	switch err := json.Unmarshal(j.Bytes, &text); {
	case err == nil:
		j.JSON, j.Bytes = text, nil
	case strings.Contains(err.Error(), "max depth"):
		j.unreadable = "its data cannot be read: " + err.Error()
	}
}

// jobText is the text of a job, with that of each of its members.
type jobText struct {
	whole   []byte
	members []memberText
}

// memberText is the name of a member, as it is quoted, and its value.
type memberText struct{ name, value []byte }

// readable reads each member alone, without those that cannot be read.
func (t jobText) readable() *Job {
	job := new(Job)
	for _, member := range t.members {
		with := *job
		text := bytes.Join([][]byte{[]byte("{"), member.name, []byte(":"), member.value, []byte("}")}, nil)
		if err := json.Unmarshal(text, &with); err != nil {
			job.unreadable = fmt.Sprintf("its %s cannot be read: %v", bytes.Trim(member.name, `"`), err)
			continue
		}
		*job = with
	}
	return job
}

// jobTexts finds the jobs of an answer. Strings apart, brackets are all that matters.
func jobTexts(answer []byte) []jobText {
	var texts []jobText
	var job jobText
	var text, name []byte
	depth, start, value := 0, 0, 0
	isInJobs := false
	for at := 0; at < len(answer); at++ {
		isOfJob := isInJobs && depth == 3
		switch letter := answer[at]; letter {
		case '"':
			end := stringEnd(answer, at)
			text = answer[at:end]
			at = end - 1
		case ':':
			if depth == 1 {
				isInJobs = string(text) == `"jobs"`
			}
			if isOfJob {
				name, value = text, at+1
			}
		case '{', '[':
			depth++
			if isInJobs && depth == 3 {
				start, value, job = at, 0, jobText{}
			}
		case ',', '}', ']':
			if isOfJob && value > 0 {
				job.members = append(job.members, memberText{name, answer[value:at]})
				value = 0
			}
			if letter == ',' {
				continue
			}
			if isOfJob {
				job.whole = answer[start : at+1]
				texts = append(texts, job)
			}
			depth--
		}
	}
	return texts
}

// stringEnd returns the index behind the closing quote of the string at start.
func stringEnd(text []byte, start int) int {
	for at := start + 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}
