"""A headless Chromium, spoken to over a pipe by the DevTools protocol: messages are JSON, each with a NUL behind it."""

import base64
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page. What its console says, and errors of its scripts, are collected in `said`."""

    def __init__(self, program):
        to_child, self.to = os.pipe()
        self.answers, from_child = os.pipe()
        self.folder = tempfile.mkdtemp()

        def as_3_and_4():
            os.dup2(to_child, 13)
            os.dup2(from_child, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--hide-scrollbars",
                   f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=as_3_and_4, close_fds=False)
        os.close(to_child)
        os.close(from_child)
        self.left, self.number, self.session, self.said, self.asked, self.loaded = b"", 0, None, [], [], False
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.left:
            got = os.read(self.answers, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self.left += got
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.said.append(params["exceptionDetails"].get("exception", {}).get("description", params["exceptionDetails"]["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.said.append(str([arg.get("value") for arg in params["args"]]))
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, scheme="light", media=""):
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.loaded = False
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        while not self.loaded:
            self.note(self.read())
        self.settle()

    def run(self, script):
        """The value of a JavaScript expression, a promise's once it is kept."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{script}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def settle(self):
        """Until what depends on the size is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")

    def picture(self, path, whole=True):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)
