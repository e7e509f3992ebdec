import json,random
r=random.Random(15)
B62="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
def t(n,a=B62): return ''.join(r.choice(a) for _ in range(n-1))+'7'
hexs="0123456789abcdef"
S=[];H=[]
def env(n,v,s=None): S.append({"env":[n,v],"secret":s or v})
def arg(a,s): S.append({"argv":a,"secret":s})
def henv(n,v): H.append({"env":[n,v]})
def harg(*a): H.append({"argv":list(a)})
# by name
for n in ["DB_PASS","SMTP_PASS","MYSQL_ROOT_PASSWORD","PGPASSWORD","REDIS_PASSWORD","MAIL_PASSWD","GPG_PASSPHRASE","VAULT_TOKEN","CI_JOB_TOKEN","WANDB_API_KEY","COMET_APIKEY","AWS_SECRET_ACCESS_KEY","AZURE_CLIENT_SECRET","DJANGO_SECRET_KEY","JWT_SECRET","SESSION_COOKIE","HTTP_AUTHORIZATION","dbPassword","npm_config__authToken","KAGGLE_KEY","MLFLOW_TRACKING_PASSWORD","LDAPPASS","SSHPASS","ENCRYPTION_KEY","DEPLOY_PRIVATE_KEY","LICENSE_KEY","SLACK_SIGNING_SECRET","ADMIN_PWD","FTP_CREDS","SERVICE_CREDENTIAL"]:
    env(n,"Winter-"+t(9))
# by shape in a variable of harmless name
for v in ["ghp_"+t(36),"github_pat_"+t(40),"glpat-"+t(20),"sk-proj-"+t(40),"sk_live_"+t(24),"hf_"+t(34),"xoxb-"+t(12,"0123456789")+"-"+t(24),"AKIA"+t(16,"ABCDEFGHIJKLMNOP234567"),"AIza"+t(35),"eyJhbGciOiJIUzI1NiJ9."+t(24)+"."+t(32),"npm_"+t(36),"pypi-AgEIcHlwaS5vcmc"+t(40),"dop_v1_"+t(64,hexs),"shpat_"+t(32,hexs),"SG."+t(22)+"."+t(43),"dapi"+t(32,hexs),"nvapi-"+t(40),"r8_"+t(37),"gsk_"+t(48),"hvs."+t(24),"ya29."+t(50),"glsa_"+t(32)+"_"+t(8,hexs)]:
    env("EXTRA",v)
env("HEADER","Authorization: Bearer "+"abc"+t(20),)
S[-1]["secret"]=S[-1]["env"][1].split()[-1]
v=t(30); env("EXTRA_HEADERS","Accept: */*; Authorization: Basic "+v,v)
v=t(44); env("STORAGE","DefaultEndpointsProtocol=https;AccountName=acme;AccountKey="+v+"==;EndpointSuffix=core.windows.net",v)
v=t(43); env("BUS","Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey="+v+"=",v)
v="S3same-"+t(8); env("SQL","Server=db;Database=x;User Id=sa;Password="+v+";Encrypt=true",v)
v="open-"+t(8); env("ODBC","Driver=x;Uid=sa;Pwd="+v+";",v)
v=t(43); env("BLOB","https://acme.blob.core.windows.net/c/f?sv=2022-11-02&sig="+v+"%3D&se=2030",v)
v=t(64,hexs); env("DATA_URL","https://b.s3.amazonaws.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Signature="+v,v)
v=t(24); env("CALLBACK","https://example.com/hook?access_token="+v+"&x=1",v)
v="T0%s/B0%s/%s"%(t(8),t(8),t(24)); env("NOTIFY","https://hooks.slack.com/services/"+v,v)
v="11%s/%s"%(t(16,"0123456789"),t(60)); env("NOTIFY","https://discord.com/api/webhooks/"+v,v)
v="%s:%s"%(t(10,"0123456789"),t(35)); env("NOTIFY","https://api.telegram.org/bot"+v+"/sendMessage",v)
v=t(20)+"@"+t(20); env("NOTIFY","https://acme.webhook.office.com/webhookb2/"+v,v)
v="hunter2"+t(4); env("DATABASE_URL","postgres://ada:"+v+"@db:5432/x",v)
v="pa"+t(10); env("PROXY","http://ada:"+v+"@proxy:3128",v)
v="q"+t(12); env("CELERY","redis://:"+v+"@cache:6379/0",v)
env("PEM","-----BEGIN RSA PRIVATE KEY-----\n"+t(60)+"\n-----END RSA PRIVATE KEY-----"); S[-1]["secret"]=S[-1]["env"][1].split("\n")[1]
v=t(20); env("CONFIG",'{"user": "ada", "password": "'+v+'"}',v)
v=t(20); env("SETTINGS","user=ada token="+v,v)
# in arguments
def a(s,*w): arg(list(w),s)
v="Sum-"+t(8); a(v,"train.py","--password",v)
v=t(20); a(v,"train.py","--api-key="+v)
v=t(20); a(v,"train.py","--hf-token",v)
v="tr0ub"+t(5); a(v,"mysql","-u","root","-p"+v,"db")
v="tr0ub"+t(5); a(v,"mysqldump","-p"+v,"db")
v="tr0ub"+t(5); a(v,"sshpass","-p",v,"ssh","host")
v="tr0ub"+t(5); a(v,"/usr/bin/mariadb","-uroot","-p"+v)
v="tr0ub"+t(5); a(v,"redis-cli","-a",v,"ping")
v="tr0ub"+t(5); a(v,"curl","-u","ada:"+v,"https://x")
v="tr0ub"+t(5); a(v,"docker","login","-u","ada","-p",v)
v="tr0ub"+t(5); a(v,"ldapsearch","-w",v,"-b","dc=x")
v="tr0ub"+t(5); a(v,"openssl","rsa","-passin","pass:"+v)
v="tr0ub"+t(5); a(v,"smbclient","-U","ada%"+v,"//h/s")
v=t(24); a(v,"curl","-H","Authorization: Bearer "+v)
v=t(24); a(v,"curl","-H","X-Api-Key: "+v)
v=t(24); a(v,"curl","-H","Private-Token: "+v)
v=t(24); a(v,"curl","--oauth2-bearer",v,"https://x")
v=t(24); a(v,"env","API_KEY="+v,"python","train.py")
v="tr0ub"+t(5); a(v,"sh","-c","mysql -u root -p"+v+" db")
v="tr0ub"+t(5); a(v,"sh","-c","PGPASSWORD="+v+" psql -h db")
v="tr0ub"+t(5); a(v,"bash","-c","export DB_PASS='"+v+"'; python train.py")
v="tr0ub"+t(5); a(v,"sh","-c","python train.py --password "+v+" --epochs 3")
v=t(24); a(v,"sh","-c",'curl -H "Authorization: Bearer '+v+'" https://x')
v="tr0ub"+t(5); a(v,"sh","-c","sshpass -p "+v+" ssh host true")
v="tr0ub"+t(5); a(v,"sh","-c","cd /x && redis-cli -a "+v+" ping | cat")
v=t(40,hexs); a(v,"wandb","login",v)
v=t(40,hexs); a(v,"sh","-c","wandb login "+v+" && python train.py")
v=t(20); a(v,"python","-c","login(token='"+v+"')")
v="tr0ub"+t(5); a(v,"git","clone","https://ada:"+v+"@git.example.com/x.git")
print(len(S))
# harmless
for n,v in [("PATH","/usr/local/bin:/usr/bin:/bin"),("HOME","/home/ada"),("PWD","/home/ada/passwords"),("OLDPWD","/tmp"),("LANG","C.UTF-8"),("OMP_NUM_THREADS","8"),("TOKENIZERS_PARALLELISM","false"),("CUDA_VISIBLE_DEVICES","0,1"),("KEYBOARD_LAYOUT","de"),("AUTHOR","Ada Lovelace"),("MAX_TOKENS","2048"),("NUM_PASSES","3"),("PASS","2"),("BYPASS_CACHE","yes-please"),("COMPASS","north"),("MONKEY","george"),("SORT_KEY","2"),("PRIMARY_KEY","7"),("USE_AUTH","false"),("AUTH_METHOD","kerberos"),("KEY_NAME","prod-eu"),("TOKEN_FILE","/run/secrets-dir/token"),("SSH_KEY_PATH","/home/ada/.ssh/id_ed25519"),("TLS_KEY","/etc/ssl/private/host.key"),("GOOGLE_APPLICATION_CREDENTIALS","/home/ada/sa.json"),("HOSTKEY_TYPE","ed25519"),("TOKEN_LIMIT","4096"),("KEY_SIZE","2048"),("PASSWORD_LENGTH","12"),("SLURM_JOB_ID","4711"),("SLURM_NODELIST","gpu[01-04]"),("MASTER_ADDR","10.0.0.1"),("MASTER_PORT","29500"),("WORLD_SIZE","4"),("PYTHONPATH","/home/ada/keys/src"),("LD_LIBRARY_PATH","/opt/cuda/lib64"),("GIT_COMMIT","9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),("IMAGE","registry.example.com/train@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),("RUN_ID","3f2504e0-4f89-11d3-9a0c-0305e82c3301"),("MODEL","sk-learn-pipeline-of-the-team"),("MODEL_NAME","bert-base-uncased-finetuned-sst-2-english"),("URL","https://example.com/a?page=2&sort=asc"),("DATA","s3://bucket/train/part-00001.parquet"),("PROXY","http://proxy.example.com:3128"),("EDITOR","vim"),("TERM","xterm-256color"),("SHELL","/bin/bash"),("TZ","Europe/Berlin"),("COLUMNS","120"),("NCCL_DEBUG","INFO"),("TORCH_HOME","/data/torch"),("HF_HOME","/data/hf"),("NOTE","the key word is attention"),("TITLE","Token: a love story"),("LS_COLORS","rs=0:di=01;34:ln=01;36"),("PS1","\\u@\\h:\\w\\$ "),("MANPATH","/usr/share/man"),("XDG_SESSION_TYPE","tty"),("MAIL","/var/mail/ada"),("HISTSIZE","1000"),("SECONDS_PER_KEY","3"),("DATE","2026-11-16T12:00:00Z"),("VERSION","1.2.3-rc.4+build.5")]:
    henv(n,v)
for a_ in [["python","train.py","--batch-size","64"],["python","train.py","--max-tokens","512"],["python","train.py","--num-passes","2"],["train","--tokenizer","bert-base"],["train","--use-auth","--lr","0.1"],["train","--key-file","/etc/key.pem"],["train","--seed","123456789"],["ls","-p","/tmp"],["ssh","-p","2222","host"],["mkdir","-p","a/b"],["make","-pn"],["nc","-p8080"],["tar","-pxf","x.tar"],["docker","run","--publish","8080:80","img"],["curl","-u","ada","https://x"],["mysql","-p","-u","root"],["git","clone","git@github.com:ada/x.git"],["git","checkout","9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"],["sh","-c","echo $PASSWORD"],["sh","-c","python train.py --token \"$HF_TOKEN\""],["sh","-c","cd /x && make -p | cat"],["sh","-c","for key in a b; do echo $key; done"],["python","-c","print('token')"],["python","-m","http.server","8000"],["grep","-r","password","src"],["grep","token:","README.md"],["env","OMP_NUM_THREADS=2","python","x.py"],["torchrun","--nproc_per_node=4","train.py"],["python","train.py","--sort-key=2"],["echo","a;b|c&d"],["awk","-F:","{print $1}"],["rsync","-a","host:/data/","./"],["train","--loss","cross-entropy","--auth","none"],["redis-cli","ping"],["find",".","-name","*.key"],["openssl","version"],["echo","日本語 ünïcode"]]:
    harg(*a_)
print(len(S),len(H))
S=S[:100];H=H[:100]
json.dump({"note":"Invented: none of these has ever opened anything. Secrets must not survive redaction, harmless values must not change.","secrets":S,"harmless":H},open('secrets.json','w'),indent=1,ensure_ascii=False)
